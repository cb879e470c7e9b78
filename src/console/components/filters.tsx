import type { ComponentChildren } from 'preact';
import { Refusal } from '../../refusal.js';
import { Field } from './field.js';

/** The filters of a list: a form that asks for the same page with other parameters. */
export function Filters({
  path,
  query,
  children,
}: {
  path: string;
  query: URLSearchParams;
  children: ComponentChildren;
}) {
  const isFiltered = [...query].some(([name, value]) => name !== 'cursor' && value !== '');
  return (
    <form class="filters card" method="get" action={path}>
      {children}
      <div class="filter-buttons">
        <button type="submit">Filter</button>
        {isFiltered && <a href={path}>Remove the filters</a>}
      </div>
    </form>
  );
}

/** The fields of a range of time. */
export function TimeFilters({ query }: { query: URLSearchParams }) {
  return (
    <>
      <Field label="From (UTC)" name="from" type="datetime-local" value={query.get('from') ?? ''} />
      <Field label="To (UTC)" name="to" type="datetime-local" value={query.get('to') ?? ''} />
    </>
  );
}

/** The range of `TimeFilters`, ms since 1970. Both ends are exclusive, as in the API. @throws Refusal invalid_request */
export function timeRange(query: URLSearchParams): { createdAfter?: number; createdBefore?: number } {
  const from = readTime(query, 'from');
  const to = readTime(query, 'to');
  return { ...(from !== undefined && { createdAfter: from - 1 }), ...(to !== undefined && { createdBefore: to }) };
}

function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? Date.parse(`${text.replace(/Z$/, '')}Z`) : Number.NaN;
  if (Number.isFinite(time)) return time;
  const error = { parameter: name, code: 'invalid_time', detail: 'must be a time such as 2026-11-22T06:14' };
  throw new Refusal('invalid_request', `The filter “${name}” ${error.detail}.`, [error]);
}

/** The value of a filter that must be one of `values`; undefined where it is absent. @throws Refusal invalid_request */
export function readChoice<Value extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const value = values.find((allowed) => allowed === text);
  if (value !== undefined) return value;
  const error = { parameter: name, code: 'invalid_value', detail: `must be one of ${values.join(', ')}` };
  throw new Refusal('invalid_request', `The filter “${name}” ${error.detail}.`, [error]);
}
