import { Field } from '../../components/field.js';
import { timeOfField } from '../../components/time-field.js';
import type { RefusedForm } from '../../page.js';

interface Props {
  since: string;
  until: string;
  /** What an empty start means; without it, the start is required. */
  sinceHint?: string;
  refused?: RefusedForm | undefined;
}

/** The window of a statement or a recover. */
export function WindowFields({ since, until, sinceHint, refused }: Props) {
  return (
    <div class="field-row">
      <Field
        name="since"
        label="From (UTC)"
        type="datetime-local"
        value={since}
        refused={refused}
        hint={sinceHint}
        required={sinceHint === undefined}
      />
      <Field
        name="until"
        label="To (UTC)"
        type="datetime-local"
        value={until}
        refused={refused}
        hint="Empty: until now."
      />
    </div>
  );
}

/** The window of a form as the API reads it; an empty field is left out, so that its default counts. */
export function windowOf(fields: URLSearchParams): { since?: string; until?: string } {
  const times = ['since', 'until'].flatMap((name) => {
    const value = fields.get(name) ?? '';
    return value === '' ? [] : [[name, timeOfField(value)]];
  });
  return Object.fromEntries(times);
}
