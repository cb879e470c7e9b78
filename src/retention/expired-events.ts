import type { Handle } from '../database/database.js';
import { lowestIdAt } from '../ids.js';
import { WITHOUT_FLUSH } from './without-flush.js';

/** The result of one batch. */
export interface RemovedBatch {
  /** Events that were removed, with their deliveries and attempts. */
  removed: number;
  /**
   * The id of the last event that the batch read, after which the next batch starts; null: no expired event follows.
   */
  after: string | null;
}

/** The least event id that is kept, by Postgres's clock. A machine whose clock is wrong removes nothing early. */
export async function firstKept(db: Handle, retention: number): Promise<string> {
  const [row] = await db.query<{ now: string }>(`select (extract(epoch from now()) * 1000)::bigint::text as now`, []);
  return lowestIdAt(Number(row?.now ?? 0) - retention);
}

/**
 * Removes up to `limit` events below the id `before` with their deliveries and attempts, oldest first. One statement
 * removes an event as a whole or not at all. An event stays while it is due for a workflow start, while a delivery of
 * it is pending, or while an attempt at a delivery is under way. The statement waits for no lock: a locked row stays
 * for the next run.
 * @param after the last event of the previous batch, so that no event is read twice in a run
 */
export async function removeExpiredEvents(
  db: Handle,
  { before, after, limit }: { before: string; after: string | null; limit: number },
): Promise<RemovedBatch> {
  const [row] = await db.query<{ seen: number; removed: number; last: string | null }>(REMOVE, [before, after, limit]);
  return { removed: row?.removed ?? 0, after: row && row.seen === limit ? row.last : null };
}

const REMOVE = `
with candidates as materialized (
  select id, outbox from events
   where id < $1::uuid and ($2::uuid is null or id > $2::uuid)
   order by id limit $3::int
), free as materialized (
  select id from events where id in (select id from candidates where outbox = 'done') and outbox = 'done'
     for update skip locked
), ended as materialized (
  select id, event_id from deliveries
   where event_id in (select id from free) and status <> 'pending' and (attempting_until is null or attempting_until <= now())
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
