import type { ComponentChildren } from 'preact';
import type { RefusedForm } from '../page.js';
import { errorAt } from './error-summary.js';
import { visibleText } from './untrusted.js';

interface Labelled {
  label: string;
  name: string;
  /** Says what is expected. */
  hint?: ComponentChildren;
  /** Where the API would name an error of the field, such as `/url`. */
  pointer?: string;
  /** The refused form, whose error is shown at the field. */
  refused?: RefusedForm | undefined;
}

interface Control extends Labelled {
  value?: string;
  /** A password is never shown again: its field comes back empty. */
  type?: 'text' | 'url' | 'password' | 'datetime-local';
  class?: string;
  required?: boolean;
  maxLength?: number;
  inputMode?: 'numeric';
  autoComplete?: 'off' | 'new-password';
  spellcheck?: boolean;
}

/** A field with its label, its hint and the error of the refused form. A refused form keeps what was typed. */
export function Field({ label, name, hint, pointer = `/${name}`, refused, type = 'text', value, ...rest }: Control) {
  const described = { name, hint, pointer, refused };
  const attributes = { ...rest, id: `field-${name}`, name, ...describedBy(described) };
  const shown = refused?.fields.get(name) ?? value ?? '';
  return (
    <Labels {...described} label={label}>
      {type === 'password' && <input {...attributes} type="password" />}
      {type === 'url' && <input {...attributes} type="url" value={shown} />}
      {type === 'datetime-local' && <input {...attributes} type="datetime-local" step={1} value={shown} />}
      {type === 'text' && <input {...attributes} value={shown} />}
    </Labels>
  );
}

export interface Choice {
  value: string;
  text: string;
  /** Choices of one group stand together under its name. */
  group?: string;
}

/** A choice of one of a list. */
export function Select(field: Labelled & { choices: readonly Choice[]; value?: string | undefined }) {
  const { label, name, hint, pointer = `/${name}`, refused, choices } = field;
  const chosen = refused?.fields.get(name) ?? field.value ?? choices[0]?.value;
  const options = (of: readonly Choice[]) =>
    of.map(({ value, text }) => (
      <option key={value} value={value} selected={value === chosen}>
        {visibleText(text)}
      </option>
    ));
  const groups = [...new Set(choices.flatMap(({ group }) => group ?? []))];
  return (
    <Labels {...{ label, name, hint, pointer, refused }}>
      <select id={`field-${name}`} name={name} {...describedBy({ name, hint, pointer, refused })}>
        {options(choices.filter(({ group }) => group === undefined))}
        {groups.map((group) => (
          <optgroup key={group} label={group}>
            {options(choices.filter((choice) => choice.group === group))}
          </optgroup>
        ))}
      </select>
    </Labels>
  );
}

type Described = Pick<Labelled, 'name' | 'hint' | 'refused'> & { pointer: string };

function Labels({
  label,
  name,
  hint,
  pointer,
  refused,
  children,
}: Described & { label: string; children: ComponentChildren }) {
  const error = errorAt(refused, pointer);
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      {children}
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
}

function describedBy({ name, hint, pointer, refused }: Described) {
  const wrong = errorAt(refused, pointer) !== undefined;
  const ids = [...(hint ? [`hint-${name}`] : []), ...(wrong ? [`error-${name}`] : [])];
  return { ...(ids.length > 0 && { 'aria-describedby': ids.join(' ') }), ...(wrong && { 'aria-invalid': true }) };
}
