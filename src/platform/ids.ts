import { randomInt } from 'node:crypto';
import { v7 } from 'uuid';
import type { Handle } from './database/database.js';

let last = { at: Number.NaN, seq: 0 };

/**
 * A UUID version 7 (RFC 9562) of this process's clock, for what no row keeps: rows have ids of Postgres's clock
 * (`newIdSql`, `takeId`). Within a millisecond it sorts after the process's id before it. @param at its time, ms since
 * 1970
 */
export function newId(at = Date.now()): string {
  last = { at, seq: at === last.at ? last.seq + 1 : randomInt(2 ** 31) };
  return v7({ msecs: at, seq: last.seq });
}

/** SQL: the time by Postgres's clock, as columns and ids keep it: in whole milliseconds. */
export const NOW = `date_trunc('milliseconds', clock_timestamp())`;

/**
 * SQL: a new UUID version 7 of the time `at`, in whole milliseconds. The next 12 bits are the time since then, up to a
 * millisecond (RFC 9562 §6.2, method 3): ids that are made one after the other sort so. Not the fraction of the clock's
 * own millisecond, which may be the next one by now.
 */
export const newIdSql = (at: string): string =>
  `(overlay(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') placing '-' from 9 for 0)
      || '-7' || lpad(to_hex(least(999, greatest(0, extract(epoch from clock_timestamp() - ${at}) * 1000000))::int * 4), 3, '0')
      || substr(gen_random_uuid()::text, 19))::uuid`;

/** An id of now and its time, for a row that needs its id before it is inserted. Call it in the row's transaction. */
export async function takeId(db: Pick<Handle, 'query'>): Promise<{ id: string; at: Date }> {
  const [taken] = await db.query<{ id: string; at: Date }>(TAKE_ID, []);
  if (!taken) throw new Error('Postgres gave no id');
  return taken;
}

const TAKE_ID = `select ${newIdSql('at')}::text as id, at from (select ${NOW} as at) t`;

/** The nil UUID (RFC 9562 §5.9): below every id, and no row's. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** The least UUID version 7 of `at` (ms since 1970). It turns a filter on time into a range of ids. */
export function lowestIdAt(at: number): string {
  const hex = Math.max(0, Math.min(at, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** SQL: the lower bound of the ids of the time `time`, a timestamptz. It turns a filter on time into a range of ids. */
export const lowestIdOf = (time: string) =>
  `(lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;

/** A part of a list that is ordered by id, and thus by time of creation. */
export interface IdRange {
  /** Only ids below this one, the last of the page before. */
  before?: string | undefined;
  /** Made after this, ms since 1970. */
  createdAfter?: number | undefined;
  /** Made before this, ms since 1970. */
  createdBefore?: number | undefined;
}

/** The range as bounds on the id. Both times are exclusive. */
export function idsWithin({ before, createdAfter, createdBefore }: IdRange): { gte?: string; lt?: string } {
  const upper = [before, createdBefore === undefined ? undefined : lowestIdAt(createdBefore)];
  const [lt] = upper.filter((id) => id !== undefined).sort();
  return {
    ...(createdAfter !== undefined && { gte: lowestIdAt(createdAfter + 1) }),
    ...(lt !== undefined && { lt }),
  };
}

/** The range with both bounds, for a statement with a parameter for each. */
export function idBounds(range: IdRange): { gte: string; lt: string } {
  return { gte: lowestIdAt(0), lt: 'ffffffff-ffff-ffff-ffff-ffffffffffff', ...idsWithin(range) };
}

/**
 * A filter on one id, written as a range, for a query that sorts by that column first. Postgres then reads the list
 * from its own index (owner, …, id). With `=` Postgres drops the sort and reads the rows of all owners by primary key,
 * because it assumes that an owner's rows are spread evenly: a million rows for a client without rows in the last
 * month.
 */
export function exactly(id: string): { gte: string; lte: string } {
  return { gte: id, lte: id };
}

/** The time that a UUID version 7 carries, ms since 1970. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The example id in OpenAPI. */
export const EXAMPLE_ID = '019abe01-7a10-7c44-9d02-3f1f6f0c8a11';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID. A path with any other text is not found. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
