import { v7 } from 'uuid';

/** A UUID version 7 (RFC 9562): sorts by time, so that indexes stay local. `at`: the time it carries, ms since 1970. */
export function newId(at?: number): string {
  return at === undefined ? v7() : v7({ msecs: at });
}

/** The least UUID version 7 made at or after `at` (ms since 1970): turns a filter on time into a range of ids. */
export function lowestIdAt(at: number): string {
  const hex = Math.max(0, Math.min(at, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** A part of a list that is ordered by id, which is by time of creation. */
export interface IdRange {
  /** Ids below this one: where the page before ended. */
  before?: string | undefined;
  /** Made after this, ms since 1970. */
  createdAfter?: number | undefined;
  /** Made before this, ms since 1970. */
  createdBefore?: number | undefined;
}

/** The range as bounds on the id, both ends exclusive. */
export function idsWithin({ before, createdAfter, createdBefore }: IdRange): { gte?: string; lt?: string } {
  const upper = [before, createdBefore === undefined ? undefined : lowestIdAt(createdBefore)];
  const [lt] = upper.filter((id) => id !== undefined).sort();
  return {
    ...(createdAfter !== undefined && { gte: lowestIdAt(createdAfter + 1) }),
    ...(lt !== undefined && { lt }),
  };
}

/**
 * A filter on one id as a range, to be sorted by first: so a list is read along its own index (owner, …, id). Of `=`
 * Postgres would drop the sort and then walk all owners' rows by primary key, in the hope that an owner's are spread evenly:
 * a million rows, for a client who has none in the last month.
 */
export function exactly(id: string): { gte: string; lte: string } {
  return { gte: id, lte: id };
}

/** The time that a UUID version 7 carries, ms since 1970. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID; anything else in a path is simply not found. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** For the documents. */
export const EXAMPLE_ID = '019abe01-7a10-7c44-9d02-3f1f6f0c8a11';
