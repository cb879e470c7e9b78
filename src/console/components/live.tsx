import type { ComponentChildren } from 'preact';

interface Props {
  /** Unique on the page. */
  id: string;
  /** The page itself, which is also shown at the path of a form that it refused. */
  path: string;
  query?: URLSearchParams;
  class?: string;
  children: ComponentChildren;
}

/**
 * A part of a page that the script keeps current: it asks for the page again and takes over what changed in the element
 * with this id. Elements inside with `data-announce` are read aloud when that text changes.
 */
export function Live({ id, path, query = new URLSearchParams(), children, ...rest }: Props) {
  return (
    <div id={id} data-live={query.size > 0 ? `${path}?${query}` : path} {...rest}>
      {children}
    </div>
  );
}
