import type { ComponentChildren, HTMLAttributes } from 'preact';

// The parts that pages are made of, apart from forms.

interface FactsProps {
  of: Readonly<Record<string, ComponentChildren>>;
  class?: 'facts' | 'stats' | 'headers';
}

/** Names and what they stand for. A name with undefined, null or false is left out. */
export function Facts({ of, class: kind = 'facts' }: FactsProps) {
  const known = Object.entries(of).filter(([, value]) => value !== undefined && value !== null && value !== false);
  return (
    <dl class={kind}>
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The heading of a page. @param button leads to the page of what is made here */
export function PageHead({ title, button }: { title: string; button?: { href: string; text: string } | false }) {
  if (!button) return <h1>{title}</h1>;
  return (
    <div class="row between">
      <h1>{title}</h1>
      <a class="button primary" href={button.href}>
        {button.text}
      </a>
    </div>
  );
}

/** A part of a page with a heading that names it. */
export function Card({ title, children, table }: { title: string; children: ComponentChildren; table?: true }) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, '-');
  return (
    <section class={table ? 'card table-card' : 'card stack'} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** The way up from a page. */
export function Up({ to, children }: { to: string; children: string }) {
  return (
    <nav aria-label="You are here">
      <a href={to}>← {children}</a>
    </nav>
  );
}

/**
 * A part of a page that the script keeps current: it asks for the page again and takes over what changed in the element
 * with this id, which is unique on the page. Elements inside with `data-announce` are read aloud when that text changes.
 * @param path the page itself, which is also shown at the path of a form that it refused
 */
export function Live({
  path,
  query,
  ...rest
}: HTMLAttributes<HTMLDivElement> & { path: string; query?: URLSearchParams }) {
  return <div data-live={addressOf(path, query)} {...rest} />;
}

/** A path with a query, if there is one. */
export const addressOf = (path: string, query?: URLSearchParams) => (query?.size ? `${path}?${query}` : path);
