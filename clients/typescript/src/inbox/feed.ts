import type { TransferServiceClient } from '../client.js';
import { TransferServiceError } from '../error.js';
import type { Page } from '../list.js';
import type { DeliveredEvent, Event } from '../types.js';
import type { Row } from './database.js';
import { type Handled, type Handling, handle } from './handle.js';

/** What a poll did. */
export interface Poll {
  handled: number;
  /** Events that failed; they are tried again a minute later, then with twice the pause each time. */
  failed: number;
  /** Events that failed for the last time; see `parked`. */
  parked: number;
  /** Whether the cursor was older than the service keeps events, so that some may be lost. */
  gap: boolean;
}

export interface Reading<Tx> extends Handling<Tx> {
  client: TransferServiceClient;
  /** Where the first poll begins; undefined: with the oldest event that there is. */
  since: Date | undefined;
  /** Days after which a handled event is forgotten. */
  keepDays: number;
  /** Told of what went wrong. */
  onError(error: unknown, event?: DeliveredEvent): void;
}

const PAGE = 100;

/** Tries again what has failed, reads the feed from the durable cursor to its end, and forgets old events. */
export async function poll<Tx>(reading: Reading<Tx>, signal: AbortSignal | undefined): Promise<Poll> {
  const { sql, onError } = reading;
  const done: Poll = { handled: 0, failed: 0, parked: 0, gap: false };
  const count = ({ outcome, error }: Handled, event: DeliveredEvent) => {
    if (outcome !== 'duplicate') done[outcome]++;
    if (error !== undefined) onError(error, event);
  };
  for (const { body } of await rows(reading, sql.due, [])) {
    signal?.throwIfAborted();
    const event = JSON.parse(String(body)) as DeliveredEvent;
    count(await handle(reading, event), event);
  }
  for (;;) {
    signal?.throwIfAborted();
    const cursor = await readCursor(reading);
    const page = await readPage(reading, cursor, signal).catch((error: unknown) => {
      if (cursor === null || !(error instanceof TransferServiceError && error.code === 'outside_retention'))
        throw error;
      done.gap = true;
      onError(new Error(GAP, { cause: error }));
      return undefined;
    });
    if (!page) {
      await rows(reading, sql.moveCursor, [null, cursor]);
      continue;
    }
    for (const event of await unknownOf(reading, page.data)) {
      signal?.throwIfAborted();
      count(await handle(reading, event), event);
    }
    // If another process has moved it, this one goes on from there.
    if (page.next_cursor !== cursor) await rows(reading, sql.moveCursor, [page.next_cursor, cursor]);
    if (!page.has_more) break;
  }
  await forget(reading);
  return done;
}

const GAP =
  'the inbox has not read the feed for longer than the service keeps events: it continues with the oldest that there is; events before are lost';

/** Makes one statement in a transaction of its own. */
export function rows<Tx>(
  { database }: Pick<Handling<Tx>, 'database'>,
  text: string,
  values: readonly (string | number | null)[],
): Promise<readonly Row[]> {
  return database.transaction((tx) => database.query(tx, text, values)) as Promise<readonly Row[]>;
}

async function readCursor<Tx>(reading: Reading<Tx>): Promise<string | null> {
  const [row] = await rows(reading, reading.sql.cursor, []);
  if (!row) throw new Error('inbox_cursor is empty: call inbox.migrate() once, before anything else');
  return row.cursor === null ? null : String(row.cursor);
}

function readPage<Tx>(
  { client, since }: Reading<Tx>,
  cursor: string | null,
  signal: AbortSignal | undefined,
): Promise<Page<Event>> {
  // The bound is exclusive.
  const start = since && { created_after: new Date(since.getTime() - 1).toISOString() };
  const from = cursor === null ? start : { cursor };
  return client.events.list({ order: 'oldest', limit: PAGE, ...from }, signal && { signal }).page();
}

/** The events of a page that have no row yet, as they are delivered. */
export async function unknownOf<Tx>(reading: Handling<Tx>, page: readonly Event[]): Promise<DeliveredEvent[]> {
  if (page.length === 0) return [];
  const known = await rows(reading, reading.sql.known, [page.map(({ id }) => id).join()]);
  const ids = new Set(known.map(({ id }) => id));
  return page.filter(({ id }) => !ids.has(id)).map(({ deliveries, ...event }) => event);
}

/** Removes old events. They are older than all that a feed read to its end may still miss. */
async function forget<Tx>({ database, sql, keepDays }: Reading<Tx>): Promise<void> {
  for (let removed = 1; removed > 0; ) {
    removed = await database.transaction(async (tx) => {
      await database.query(tx, sql.forget, [keepDays]);
      const [row] = (await database.query(tx, sql.remove, [])) as readonly Row[];
      return Number(row?.removed);
    });
  }
}
