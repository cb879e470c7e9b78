import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { timeOfParts } from '../../platform/iso-time.js';
import { Refusal } from '../../platform/refusal.js';
import type { Visit } from '../page.js';
import { addressOf, type Choice, Live, Refused, Tabs, TimeField } from './parts.js';

// What the pages of lists share: table, filters, pages.

interface TableProps<Row> {
  rows: readonly Row[];
  /** The cell of a row, by the heading of its column. */
  columns: Readonly<Record<string, (row: Row) => ComponentChildren>>;
  /** By headings. `wide-only`: a table of a medium width omits the column. */
  classes?: Readonly<Record<string, 'right' | 'wide-only'>>;
  /** By which the script knows a row again, and what it reads aloud when that changes. */
  row?(row: Row): { id: string; 'data-announce'?: string };
  /** The page of a row: the link in its first cell covers the row. */
  href?: (row: Row) => string;
  /** Unique on the page. */
  id?: string;
  /** A control before the cells, by which a person selects the row. */
  select?: ((row: Row) => ComponentChildren) | undefined;
}

/** A table; on a narrow screen each row becomes a card, whose cells are named by the headings. */
export function Table<Row>({ rows, columns, classes = {}, row, href, id, select }: TableProps<Row>) {
  return (
    <div class="card table-card">
      <table class="table" id={id}>
        <thead>
          <tr>
            {select && (
              <th scope="col" class="select">
                <span class="visually-hidden">Select</span>
              </th>
            )}
            {Object.keys(columns).map((heading) => (
              <th key={heading} scope="col" class={classes[heading]}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr {...row?.(one)}>
              {select && <td class="select">{select(one)}</td>}
              {Object.entries(columns).map(([heading, cell], i) => (
                <td key={heading} data-label={heading} class={classes[heading]}>
                  {i === 0 && href ? (
                    <a class="row-link" href={href(one)}>
                      {cell(one)}
                    </a>
                  ) : (
                    cell(one)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The way to the next page of a list, and back to its start. A keyset cursor knows no page number. */
export function Pager({ path, query, nextCursor }: Pick<ListProps, 'path' | 'query' | 'nextCursor'>) {
  if (nextCursor === null && !query.has('cursor')) return null;
  const filters = [...query].filter(([name, value]) => name !== 'cursor' && value !== '');
  return (
    <nav class="row" aria-label="Pages">
      {query.has('cursor') && (
        <a class="button" href={addressOf(path, new URLSearchParams(filters))}>
          Newest
        </a>
      )}
      {nextCursor !== null && (
        <a class="button" href={addressOf(path, new URLSearchParams([...filters, ['cursor', nextCursor]]))} rel="next">
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
  /** The form of the selected rows, which follows the table. */
  actions?: ComponentChildren;
  /** The filters before those of time, which every list has. */
  filters: ComponentChildren;
  /** The table; undefined where nothing is listed. */
  table: ComponentChildren;
  nextCursor: string | null;
  /** What to do where there is nothing yet. */
  children: ComponentChildren;
}

/** A list with its filters, which are a form that asks for the same page with other parameters. */
export function List({ path, query, many, filters, table, actions, nextCursor, children }: ListProps) {
  const refused = useContext(Refused);
  const set = [...query].filter(([name, value]) => name !== 'cursor' && value !== '').length;
  return (
    <>
      <TimePresets path={path} query={query} />
      <input type="checkbox" id="filters-shown" class="filters-toggle" checked={refused !== undefined} />
      <label for="filters-shown" class="button filters-label">
        Filters{set > 0 && ` (${set})`}
      </label>
      <form class="filters row" method="get" action={path}>
        {filters}
        <TimeField label="Created after" name="created_after" value={query.get('created_after')} />
        <TimeField label="Created before" name="created_before" value={query.get('created_before')} />
        <span class="row">
          <button type="submit">Filter</button>
          {(set > 0 || refused) && (
            <a class="button" href={path}>
              Clear filters
            </a>
          )}
        </span>
      </form>
      <Live id={many} path={path} query={query} class="stack">
        {table}
        {table && actions}
        {!table && set === 0 && <Empty title={`No ${many} yet`}>{children}</Empty>}
        {!table && set > 0 && (
          <Empty title={`No ${many} match`}>
            <a href={path}>Show all {many}</a>
          </Empty>
        )}
        <Pager path={path} query={query} nextCursor={nextCursor} />
      </Live>
    </>
  );
}

const PRESETS = { '': 'Any time', '1h': 'Last hour', '24h': '24 hours', '7d': '7 days', '30d': '30 days' };

/** Links to the same list of a recent time. */
function TimePresets({ path, query }: Pick<ListProps, 'path' | 'query'>) {
  const others = [...query].filter(
    ([name, value]) => value !== '' && !['cursor', 'created_after', 'created_before'].includes(name),
  );
  const hrefOf = (after: string) =>
    addressOf(path, new URLSearchParams([...others, ...(after ? [['created_after', after]] : [])]));
  const tabs = Object.entries(PRESETS).map(([after, text]) => ({ href: hrefOf(after), text }));
  const isRange = (query.get('created_before') ?? '') !== '';
  return <Tabs label="Time range" tabs={tabs} here={isRange ? undefined : hrefOf(query.get('created_after') ?? '')} />;
}

/** Stands where a list has no entry: what will be here, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/**
 * The query of a page of a list, whose fields have the names of the API's, as the API reads it.
 * @throws Refusal invalid_request
 */
export function listQuery({ query, session: { now } }: Pick<Visit, 'query' | 'session'>) {
  const given = [...query].filter(([, value]) => value !== '');
  return {
    ...Object.fromEntries(given),
    created_after: readTime(query, 'created_after', now),
    created_before: readTime(query, 'created_before', now),
  };
}

const AGO = /^(\d{1,4}) ?(M|MIN|H|D|DAYS?)(?: AGO)?$/;
const MINUTES = { M: 1, H: 60, D: 1_440 };

/** `2 h`, `90 min`, `7 days`: so long ago. `15:16`: the latest such time of day, in UTC. */
function readNearTime(text: string, now: number): number | undefined {
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count && unit) return now - Number(count) * MINUTES[unit.charAt(0) as keyof typeof MINUTES] * 60_000;
  if (!/^\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const at = timeOfParts(new Date(now).toISOString().slice(0, 10), text);
  return at !== undefined && at > now ? at - 86_400_000 : at;
}

/**
 * A time as a person types it: `2 h` (ago), `15:16`, or ISO 8601, in UTC unless it names a zone, as the API reads it;
 * undefined where it is absent.
 * @param now by Postgres's clock
 * @throws Refusal invalid_request
 */
export function readTime(fields: URLSearchParams, name: string, now: number): string | undefined {
  const text = fields.get(name)?.trim().toUpperCase();
  if (!text) return undefined;
  const pattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))? ?(Z|UTC|[+-]\d\d:\d\d)?$/;
  const [, day = '', time, zone] = pattern.exec(text) ?? [];
  const at = readNearTime(text, now) ?? timeOfParts(day, time, zone?.replace('UTC', 'Z'));
  if (at !== undefined) return new Date(at).toISOString();
  const error = { code: 'invalid_time', detail: 'must be a time such as 2 h, 15:16 or 2026-11-22 06:14, in UTC' };
  throw new Refusal('invalid_request', 'A time cannot be read.', [{ parameter: name, ...error }]);
}

/** A page of a list of the API. */
export interface Listed<Item> {
  data: Item[];
  next_cursor: string | null;
}
