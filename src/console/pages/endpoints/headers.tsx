import { useContext } from 'preact/hooks';
import { Field, Refused } from '../../components/parts.js';
import { HEADER_FIELDS } from '../../page.js';

/**
 * The fields of an endpoint's headers. A value is never shown: an empty one keeps what is stored.
 * @param stored the names of the endpoint's headers
 */
export function HeaderFields({
  stored = [],
  needsValues = false,
}: {
  stored?: readonly string[] | undefined;
  needsValues?: boolean;
}) {
  const refused = useContext(Refused);
  const given = refused && filledRows(refused.fields);
  return (
    <details open={needsValues || (given && given.length > 0)}>
      <summary>Headers{stored.length > 0 && ` (${stored.length})`}</summary>
      <div class="stack">
        <p class="hint">
          Sent with each request, such as the API key that a gateway asks for. A value is encrypted and never shown
          again. {needsValues ? 'Enter the values again.' : stored.length > 0 && 'An empty value keeps the stored one.'}
        </p>
        {HEADER_FIELDS.map(([name, value], i) => {
          // The API counts the rows that are not empty.
          const pointer = `/headers/${given?.indexOf(i) ?? i}`;
          return (
            <div key={name} class="fields">
              <Field {...{ name, label: `Name ${i + 1}`, pointer: `${pointer}/name`, value: stored[i] }} class="mono" />
              <Field
                {...{ name: value, label: `Value ${i + 1}`, type: 'password', pointer: `${pointer}/value` }}
                class="mono"
                autoComplete="new-password"
              />
            </div>
          );
        })}
      </div>
    </details>
  );
}

/** The headers of a form as the API reads them; undefined where the form has no such fields. */
export function headersOf(fields: URLSearchParams): { name: string; value?: string }[] | undefined {
  if (!HEADER_FIELDS.some(([name]) => fields.has(name))) return undefined;
  return filledRows(fields).map((row) => {
    const [name, value] = HEADER_FIELDS[row]?.map((field) => fields.get(field) ?? '') ?? [];
    return { name: name?.trim() ?? '', ...(value && { value }) };
  });
}

const filledRows = (fields: URLSearchParams) =>
  HEADER_FIELDS.flatMap((names, row) => (names.some((name) => fields.get(name)) ? [row] : []));
