import { Field } from '../../components/field.js';
import { timeOfField } from '../../components/time-field.js';
import type { RefusedForm } from '../../page.js';

interface Props {
  since: string;
  until: string;
  refused?: RefusedForm | undefined;
}

/** The window of a statement or a recover. */
export function WindowFields({ since, until, refused }: Props) {
  return (
    <div class="field-row">
      <Field name="since" label="From (UTC)" type="datetime-local" value={since} refused={refused} required />
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

/** The window of a form as the API reads it; an empty end is left out. */
export function windowOf(fields: URLSearchParams): { since: string; until?: string } {
  const until = fields.get('until') ?? '';
  return { since: timeOfField(fields.get('since') ?? ''), ...(until !== '' && { until: timeOfField(until) }) };
}
