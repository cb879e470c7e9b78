import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { PROBLEMS, type ValidationError } from '../../platform/refusal.js';
import type { RefusedForm } from '../page.js';
import { visibleText } from './values.js';

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

interface Control extends Labelled {
  /** A password is never shown again: its field comes back empty. */
  type?: 'url' | 'password' | 'datetime-local';
  class?: string;
  required?: boolean;
  maxLength?: number;
  inputMode?: 'numeric';
  autoComplete?: 'off' | 'new-password' | 'username' | 'current-password';
  spellcheck?: boolean;
}

/** A field with its label, its hint and the error of the refused form. */
export function Field({ label, hint, pointer, type, value, ...rest }: Control) {
  const { attributes, around, typed } = useLabel({ label, name: rest.name, hint, pointer });
  const control: object = {
    ...rest,
    ...attributes,
    type,
    ...(type === 'datetime-local' && { step: 1 }),
    ...(type !== 'password' && { value: typed ?? value ?? '' }),
  };
  return around(<input {...control} />);
}

/** A choice whose text differs from its value. */
export interface Choice {
  value: string;
  text: string;
  /** Choices of one group stand together under its name. */
  group?: string;
}

/** A choice of one of a list. */
export function Select({ choices, value, ...field }: Labelled & { choices: readonly (Choice | string)[] }) {
  const { attributes, around, typed } = useLabel(field);
  const all = choices.map((choice): Choice => (typeof choice === 'string' ? { value: choice, text: choice } : choice));
  const chosen = typed ?? value ?? all[0]?.value;
  const options = (group?: string) =>
    all
      .filter((choice) => choice.group === group)
      .map(({ value: own, text }) => (
        <option key={own} value={own} selected={own === chosen}>
          {visibleText(text)}
        </option>
      ));
  return around(
    <select {...attributes}>
      {options()}
      {[...new Set(all.flatMap(({ group }) => group ?? []))].map((group) => (
        <optgroup key={group} label={group}>
          {options(group)}
        </optgroup>
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
    ...(error && { 'aria-invalid': true }),
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
    <form class="inline" method="post" action={action} id={id}>
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

/** The end of a form: its button, and the way back without it. */
export function Submit({ children, cancel }: { children: string; cancel: string }) {
  return (
    <p class="actions">
      <button type="submit" class="primary">
        {children}
      </button>
      <a href={cancel}>Cancel</a>
    </p>
  );
}

/** Why a form was refused, above the page; errors of single fields are listed and also stand at their fields. */
export function ErrorSummary({ refused: { refusal } }: { refused: RefusedForm }) {
  return (
    <section class="error-summary" role="alert">
      <h2>{PROBLEMS[refusal.code].title}</h2>
      {refusal.errors.length === 0 ? (
        <p>{refusal.message}</p>
      ) : (
        <ul>
          {refusal.errors.map((error) => (
            <li key={error.pointer}>
              {nameOf(error)} {error.detail}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Fields whose label differs from the API's name. */
const LABELS: Readonly<Record<string, string>> = { '/max_concurrency': 'deliveries at the same time' };

function nameOf({ pointer, parameter }: ValidationError): string {
  const name = pointer?.slice(1).replaceAll('/', ' ') ?? parameter ?? '';
  return LABELS[pointer ?? ''] ?? name.replaceAll('_', ' ');
}

/** The value of a field for a time, in UTC: `2026-11-22T06:14:03`. */
export function timeValue(at: Date): string {
  return at.toISOString().slice(0, 19);
}

/** The time of a field as the API reads it. A field has no zone, and its label says UTC; a zone that was typed stays. */
export function timeOfField(text: string): string {
  if (/[Zz]$|[+-]\d\d:\d\d$/.test(text)) return text;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? `${text}:00Z` : `${text}Z`;
}
