import type { Handle } from '../database/database.js';
import { lowestIdAt } from '../ids.js';

/** What one batch did. */
export interface RemovedBatch {
  /** Events that went, with their deliveries and attempts. */
  removed: number;
  /** The last event looked at, where the next batch goes on; null: there are no older ones left. */
  after: string | null;
}

/** The least event id that is kept. By Postgres's clock, so that a machine with a wrong one removes nothing early. */
export async function firstKept(db: Handle, retention: number): Promise<string> {
  const [row] = await db.query<{ now: string }>(`select (extract(epoch from now()) * 1000)::bigint::text as now`, []);
  return lowestIdAt(Number(row?.now ?? 0) - retention);
}

/**
 * Removes the next few events below the id `before` with their deliveries and attempts, oldest first, in one statement: all
 * of an event or nothing. An event stays while its workflow is still to be started, a delivery of it is pending, or an
 * attempt at one is under way. Waits for nobody's lock: what somebody holds is left for the next run.
 * @param after the last event of the batch before: what had to stay, and what was removed just now, is not read again
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
       (select count(*)::int from removed) as removed`;
