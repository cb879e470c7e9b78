import { setTimeout as sleep } from 'node:timers/promises';
import { type Handle, readClock, rowOf } from './database/database.js';
import { lowestIdAt } from './ids.js';

/**
 * SQL, a value for the list of a `select`: the commit of this transaction does not wait for the disk. A removal that a
 * crash of Postgres takes back is made again by the next run.
 */
const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true) as flush`;

/** The least id of `age` ms ago, by Postgres's clock. A machine whose clock is wrong removes nothing early. */
export async function lowestIdBefore(db: Handle, age: number): Promise<string> {
  return lowestIdAt((await readClock(db)) - age);
}

/**
 * Removes up to `limit` events below the id `before` with their deliveries and attempts, oldest first. One statement
 * removes an event as a whole or not at all. An event stays while it is due for a workflow start, while a delivery of
 * it is pending, or while an attempt is queued or in flight. The statement waits for no lock: a locked row stays
 * for the next run.
 * @param after the last event of the previous batch, so that no event is read twice in a run
 * @returns the number of removed events, and the last event that the batch read, after which the next one starts; null:
 * no expired event follows
 */
export async function removeExpiredEvents(
  db: Handle,
  { before, after, limit }: { before: string; after: string | null; limit: number },
): Promise<{ removed: number; after: string | null }> {
  type Row = { seen: number; removed: number; last: string | null };
  const { seen, removed, last } = await rowOf<Row>(db, REMOVE, [before, after, limit]);
  return { removed, after: seen === limit ? last : null };
}

const REMOVE = `
with candidates as materialized (
  select id from events
   where id < $1::uuid and ($2::uuid is null or id > $2::uuid)
   order by id limit $3::int
), free as materialized (
  select v.id from events v
   where v.id in (select id from candidates) and not exists (select from outbox o where o.event_id = v.id)
     for update of v skip locked
), ended as materialized (
  select id, event_id from deliveries
   where event_id in (select id from free) and status <> 'pending' and not exists (select from queue q where q.delivery_id = deliveries.id)
     for update skip locked
), expired as materialized (
  select f.id from free f
   where not exists (select from deliveries d where d.event_id = f.id and d.id not in (select id from ended))
), attempts_removed as (
  delete from attempts a using ended d where a.delivery_id = d.id and d.event_id in (select id from expired)
), deliveries_removed as (
  delete from deliveries d using ended e where d.id = e.id and e.event_id in (select id from expired)
), removed as (
  delete from events where id in (select id from expired) returning id
)
select (select count(*)::int from candidates) as seen, (select max(id::text) from candidates) as last,
       (select count(*)::int from removed) as removed, ${WITHOUT_FLUSH}`;

/** When a row of a table has expired. `$2` is the retention of events, in ms. Reads ignore an expired row already. */
const EXPIRED = {
  /** Stored responses, 24 h. */
  idempotency_keys: `created_at < now() - interval '24 hours'`,
  /** No process accepts the assertion any more. */
  used_assertions: `expires_at < now()`,
  /** No statement reaches a period that ended before the retention. */
  endpoint_disabled_periods: `ended_at < now() - $2::bigint * interval '1 millisecond'`,
  /** The console's plots show 30 days. */
  endpoint_hours: `hour < now() - interval '31 days'`,
  /** Idle for 1 h. A session that reached its 8 h is not used any more, so that this finds it too. */
  console_sessions: `last_seen_at < now() - interval '1 hour'`,
  console_codes: `expires_at < now()`,
  /** The transfers stay. No activity runs again a day after the last step. */
  sandbox_transfers: `ended_at < now() - interval '24 hours'`,
  /** Recoveries that have ended. */
  recoveries: `finished_at < now() - $2::bigint * interval '1 millisecond'`,
  /** Checks of receivers with their cases. */
  receiver_checks: `started_at < now() - interval '24 hours'`,
  /** What operators and clients were told. */
  notifications: `created_at < now() - interval '30 days'`,
  /** Workers that were killed. */
  workers: `alive_until < now() - interval '1 hour'`,
  apis: `alive_until < now() - interval '1 hour'`,
  /** Windows of limits that have ended. */
  limit_uses: `ends_at < now() - interval '1 minute'`,
} as const;

type Table = keyof typeof EXPIRED;

/** The tables with rows that expire, apart from those of events. */
export const TABLES_WITH_EXPIRY = Object.keys(EXPIRED) as readonly Table[];

/**
 * Removes up to `limit` expired rows of a table. The statement waits for no lock: a locked row stays for the next run.
 * @param retention of events, ms
 * @returns the number of removed rows
 */
export async function removeExpiredRows(db: Handle, table: Table, retention: number, limit: number): Promise<number> {
  const condition = EXPIRED[table];
  const values = condition.includes('$2') ? [limit, retention] : [limit];
  const { removed } = await rowOf<{ removed: number }>(
    db,
    `
with removed as (
  delete from ${table} where ctid in (
    select ctid from ${table} where ${condition} limit $1::int for update skip locked)
  returning 1
)
select count(*)::int as removed, ${WITHOUT_FLUSH} from removed`,
    values,
  );
  return removed;
}

/** Shortest and longest rest after a batch, ms. */
const [SHORTEST_REST, LONGEST_REST] = [20, 1_000];

/** Runs `batch` until it returns false. A rest as long as the batch follows each, so that nobody waits long for it. */
export async function inBatches(batch: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const since = performance.now();
    if (!(await batch())) return;
    await restAfterBatch(since, LONGEST_REST);
  }
}

/** Rests as long as the batch that began at `since` (`performance.now()`) has taken, at most `longest` ms. */
export function restAfterBatch(since: number, longest: number): Promise<void> {
  return sleep(Math.min(longest, Math.max(SHORTEST_REST, performance.now() - since)));
}
