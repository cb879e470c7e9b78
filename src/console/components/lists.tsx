import type { ComponentChildren } from 'preact';
import type { CursorKind } from '../../http/paging.js';
import { Refusal } from '../../platform/refusal.js';
import { type Choice, Field } from './forms.js';
import { addressOf, Live } from './parts.js';

// What the pages of lists share: table, filters, pages.

interface Column<Row> {
  heading: string;
  /** The heading is only read aloud. */
  hidden?: true;
  class?: 'right' | 'numeric' | 'wide';
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** By which the script knows a row again, and what it reads aloud when that changes. */
  row?(row: Row): { id: string; 'data-announce'?: string };
  /** Stays a table on a narrow screen. */
  small?: true;
  /** It is a card of its own. */
  card?: true;
}

/** A table; on a narrow screen each row becomes a card, whose cells are named by the headings. */
export function Table<Row>({ rows, columns, row, small, card }: TableProps<Row>) {
  const table = (
    <table class={small ? 'table small' : 'table'}>
      <thead>
        <tr>
          {columns.map(({ heading, hidden, ...column }) => (
            <th key={heading} scope="col" {...(column.class === 'right' && { class: 'right' })}>
              {hidden ? <span class="visually-hidden">{heading}</span> : heading}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <tr {...row?.(one)}>
            {columns.map(({ heading, hidden, cell, ...column }) => (
              <td key={heading} data-label={hidden ? undefined : heading} class={column.class}>
                {cell(one)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return card ? <div class="card table-card scroll">{table}</div> : table;
}

/** The way to the next page of a list, and back to its start. A keyset cursor knows no page number. */
export function Pager({ path, query, nextCursor }: Pick<ListProps, 'path' | 'query' | 'nextCursor'>) {
  if (nextCursor === null && !query.has('cursor')) return null;
  const filters = [...query].filter(([name, value]) => name !== 'cursor' && value !== '');
  return (
    <nav class="pager" aria-label="Pages">
      {query.has('cursor') && <a href={addressOf(path, new URLSearchParams(filters))}>Newest</a>}
      {nextCursor !== null && (
        <a href={addressOf(path, new URLSearchParams([...filters, ['cursor', nextCursor]]))} rel="next">
          Older
        </a>
      )}
    </nav>
  );
}

/** The choice of no filter. */
export const ANY: Choice = { value: '', text: 'Any' };

interface ListProps {
  path: string;
  /** The query of this page, with its filters. */
  query: URLSearchParams;
  /** What it lists: `deliveries`. */
  many: string;
  /** One of them: `delivery`. */
  one: string;
  /** The filters before those of time, which every list has. */
  filters: ComponentChildren;
  /** The table; undefined where nothing is listed. */
  table: ComponentChildren;
  nextCursor: string | null;
  /** Why nothing matches the filters, in addition to them. */
  noMatch?: string;
  /** What to do where there is nothing yet. */
  children: ComponentChildren;
}

/** A list with its filters, which are a form that asks for the same page with other parameters. */
export function List({ path, query, many, one, filters, table, nextCursor, noMatch, children }: ListProps) {
  const isFiltered = [...query].some(([name, value]) => name !== 'cursor' && value !== '');
  return (
    <>
      <form class="filters card" method="get" action={path}>
        {filters}
        <Field label="From (UTC)" name="from" type="datetime-local" value={query.get('from')} />
        <Field label="To (UTC)" name="to" type="datetime-local" value={query.get('to')} />
        <div class="filter-buttons">
          <button type="submit">Filter</button>
          {isFiltered && <a href={path}>Remove the filters</a>}
        </div>
      </form>
      <Live id={many} path={path} query={query}>
        {table}
        {!table && !isFiltered && <Empty title={`No ${one} yet`}>{children}</Empty>}
        {!table && isFiltered && (
          <Empty title={`No ${one} matches`}>
            <p>
              {noMatch} <a href={path}>Show all {many}</a>
            </p>
          </Empty>
        )}
        <Pager path={path} query={query} nextCursor={nextCursor} />
      </Live>
    </>
  );
}

/** The place of a list that has no entry: why, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** The filters and the cursor that a list of the API has too, as its query. @throws Refusal invalid_request */
export function listQuery(query: URLSearchParams, filters: Readonly<Record<string, string | undefined>>) {
  const { createdAfter, createdBefore } = timeRange(query);
  const all = {
    ...filters,
    created_after: createdAfter === undefined ? undefined : new Date(createdAfter).toISOString(),
    created_before: createdBefore === undefined ? undefined : new Date(createdBefore).toISOString(),
    cursor: query.get('cursor') ?? undefined,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The range of the filters, ms since 1970. Both ends are exclusive, as in the API. @throws Refusal invalid_request */
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
  throw invalidFilter(name, 'invalid_time', 'must be a time such as 2026-11-22T06:14');
}

/** The value of a filter that must be one of `values`; undefined where it is absent. @throws Refusal invalid_request */
export function readChoice<Value extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = query.get(name) ?? '';
  const value = values.find((allowed) => allowed === text);
  if (value !== undefined || text === '') return value;
  throw invalidFilter(name, 'invalid_value', `must be one of ${values.join(', ')}`);
}

/** The position in a list that `cursor` names; undefined at its start. @throws Refusal invalid_request */
export function readCursor<Key>(query: URLSearchParams, kind: CursorKind<Key, never>): Key | undefined {
  const text = query.get('cursor');
  const key = text === null ? undefined : kind.read(text);
  if (key !== undefined || text === null) return key;
  const error = { parameter: 'cursor', code: 'invalid_cursor', detail: 'is not a cursor of an earlier page' };
  throw new Refusal('invalid_request', 'The link to this page is damaged; start at the first page.', [error]);
}

export function invalidFilter(parameter: string, code: string, detail: string): Refusal {
  return new Refusal('invalid_request', `The filter “${parameter}” ${detail}.`, [{ parameter, code, detail }]);
}

/** A page of a list of the API. */
export interface Listed<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** A page of `rows`, of which one more than `most` was read, and the cursor of the next page. */
export function pageOf<Row extends { id: string }>(rows: readonly Row[], most: number, kind: CursorKind) {
  const shown = rows.slice(0, most);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > most && last ? kind.after(last) : null };
}
