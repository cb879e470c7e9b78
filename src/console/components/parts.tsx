import {
  type ComponentChildren,
  createContext,
  type HTMLAttributes,
  type InputHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'preact';
import { useContext } from 'preact/hooks';
import { PROBLEMS } from '../../platform/refusal.js';
import type { RefusedForm } from '../page.js';
import { visibleText } from './values.js';

// The parts that pages are made of: facts, headings, cards, parts that stay current, and the fields of forms.

interface FactsProps {
  of: Readonly<Record<string, ComponentChildren>>;
  class?: 'facts' | 'headers';
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
  return (
    <div class="row between">
      <h1>{title}</h1>
      {button && (
        <a class="button primary" href={button.href}>
          {button.text}
        </a>
      )}
    </div>
  );
}

/** A part of a page with a heading that names it. */
export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card stack" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface TabsProps {
  label: string;
  tabs: readonly { href: string; text: string | undefined }[];
  /** The address of the tab that is shown. */
  here: string | undefined;
}

/** Links to the pages of a group. */
export function Tabs({ label, tabs, here }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ href, text }) => (
          <li key={href}>
            <a href={href} aria-current={href === here ? 'page' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
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
 * with this id, which is unique on the page. Elements inside with `data-announce` are read aloud when that text
 * changes.
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

/** The form of the page that was refused. Its fields keep what was typed, and show their errors. */
export const Refused = createContext<RefusedForm | undefined>(undefined);

interface Labelled {
  label: string;
  name: string;
  /** Says what is expected. */
  hint?: ComponentChildren;
  /** Where the API would name an error of the field, such as `/url`. */
  pointer?: string | undefined;
  value?: string | null | undefined;
}

/** The attributes of an input. A password is never shown again: its field comes back empty. */
type Control = Labelled & Omit<InputHTMLAttributes<HTMLInputElement>, keyof Labelled>;

/** A field with its label, its hint and the error of the refused form. */
export function Field({ label, hint, pointer, type, value, ...rest }: Control) {
  const { attributes, around, typed } = useLabel({ label, name: rest.name, hint, pointer });
  const shown = type === 'password' ? {} : { value: typed ?? value ?? '' };
  const control: object = { ...rest, ...attributes, type, ...shown };
  return around(<input autoComplete="off" spellcheck={false} {...control} />);
}

/** A field of several lines, which comes back empty. */
export function TextArea({ label, hint, ...rest }: Labelled & Omit<TextareaHTMLAttributes, keyof Labelled>) {
  const { attributes, around } = useLabel({ label, name: rest.name, hint });
  const control: object = { autoComplete: 'off', spellcheck: false, ...rest, ...attributes };
  return around(<textarea {...control} />);
}

/** A field for a time in ISO 8601, which a person can paste and read in any locale. */
export function TimeField(field: Omit<Control, 'type'>) {
  return <Field placeholder="2 h, 06:14 or a date" {...field} label={`${field.label} (UTC)`} />;
}

/** A choice whose text differs from its value. */
export interface Choice {
  value: string;
  text: string;
}

/** A choice of one of a list. */
export function Select({ choices, value, ...field }: Labelled & { choices: readonly (Choice | string)[] }) {
  const { attributes, around, typed } = useLabel(field);
  const all = choices.map((choice): Choice => (typeof choice === 'string' ? { value: choice, text: choice } : choice));
  const chosen = typed ?? value ?? all[0]?.value;
  return around(
    <select {...attributes}>
      {all.map(({ value: own, text }) => (
        <option key={own} value={own} selected={own === chosen}>
          {visibleText(text)}
        </option>
      ))}
    </select>,
  );
}

/** The attributes of a control, its label, hint and error around it, and what was typed before. */
function useLabel({ label, name, hint, pointer = `/${name}` }: Labelled) {
  const refused = useContext(Refused);
  const error = refused?.refusal.errors.find((one) => one.pointer === pointer || one.parameter === name)?.detail;
  const ids = [...(hint ? [`hint-${name}`] : []), ...(error ? [`error-${name}`] : [])];
  const attributes = {
    id: `field-${name}`,
    name,
    ...(ids.length > 0 && { 'aria-describedby': ids.join(' ') }),
    ...(error && { 'aria-invalid': true, autofocus: true }),
  };
  const around = (control: ComponentChildren) => (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      {control}
      {hint && (
        <span class="hint" id={`hint-${name}`}>
          {hint}
        </span>
      )}
      {error && (
        <span class="field-error" id={`error-${name}`}>
          {error}
        </span>
      )}
    </div>
  );
  return { attributes, around, typed: refused?.fields.get(name) };
}

interface PostButtonProps {
  action: string;
  children: ComponentChildren;
  class?: 'primary' | 'danger' | undefined;
  id?: string;
  /** Sent with it. */
  fields?: Readonly<Record<string, string>>;
  /** Stands beside the button. */
  note?: ComponentChildren;
}

/** A button that changes something: a form that a person fills in no further. */
export function PostButton({ action, children, id, fields = {}, note, ...button }: PostButtonProps) {
  return (
    <form class="row" method="post" action={action} id={id}>
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={button.class}>
        {children}
      </button>
      {note}
    </form>
  );
}

/** The main button of a form. @param cancel the way back without it */
export function Submit({ children, cancel }: { children: string; cancel?: string }) {
  return (
    <p class="row">
      <button type="submit" class="primary">
        {children}
      </button>
      {cancel && <a href={cancel}>Cancel</a>}
    </p>
  );
}

/** Why a form was refused, above the page; errors of single fields are listed and also stand at their fields. */
export function ErrorSummary({ refused: { refusal } }: { refused: RefusedForm }) {
  return (
    <section class="banner bad" role="alert">
      <h2>{PROBLEMS[refusal.code].title}</h2>
      {refusal.errors.length === 0 ? (
        <p>{refusal.message}</p>
      ) : (
        <ul>
          {refusal.errors.map((error) => (
            <li key={error.pointer}>
              {error.pointer?.slice(1) ?? error.parameter} {error.detail}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The value of a field for a time, in UTC: `2026-11-22 06:14:03`. */
export function timeValue(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ');
}
