import type { Handle } from '../database/database.js';
import { lowestIdAt } from '../ids.js';
import { isFree } from '../lease.js';
import { waitingEvents } from './lease-events.js';

/**
 * Moves leased events that have nothing left to do out of the state `start`, which the release before also gives to
 * delivered events. Any process may take them then.
 */
export async function markTrailing(db: Handle, eventIds: readonly string[]): Promise<void> {
  await db.query(MARK, [eventIds]);
}

const MARK = `
update events set outbox = 'trailing', lease_until = now() where id = any($1::uuid[]) and outbox = 'start'`;

/** The result of one batch. */
export interface SkippedBatch {
  /** Events that were marked done without a workflow. */
  skipped: number;
  /** Events that have a delivery left to make, and thus are due for their workflow after all. */
  due: number;
}

/**
 * Marks up to `limit` trailing events done without a workflow: those made longer ago than `trail` (ms, by Postgres's
 * clock) that no process has leased, oldest first of each client. The statement waits for no lock.
 */
export async function skipTrailing(
  db: Handle,
  { trail, limit }: { trail: number; limit: number },
): Promise<SkippedBatch> {
  const [clock] = await db.query<{ now: string }>(`select (extract(epoch from now()) * 1000)::bigint::text as now`, []);
  const before = lowestIdAt(Number(clock?.now ?? 0) - trail);
  const [row] = await db.query<SkippedBatch>(SKIP, [before, limit]);
  return row ?? { skipped: 0, due: 0 };
}

const OF_CLIENT = waitingEvents('e', "'trailing'::outbox_state", 'c.client_id');

/**
 * A loose index scan finds the clients, as in `leaseEvents`. An id says when its event was made, so each client's part
 * of the index ends at its first younger event.
 */
const SKIP = `
with recursive clients as (
  (select client_id from events where outbox >= 'trailing' and outbox <= 'trailing' and outbox <> 'done'
    order by outbox, client_id limit 1)
  union all
  select (select e.client_id from events e
           where e.outbox <> 'done' and e.outbox <= 'trailing' and (e.outbox, e.client_id) > ('trailing', c.client_id)
           order by e.outbox, e.client_id limit 1)
    from clients c where c.client_id is not null
), candidates as (
  select e.id
    from clients c cross join lateral (
      select e.id from events e
       where ${OF_CLIENT.where} and e.id < $1::uuid and ${isFree('e.lease_until')}
       order by ${OF_CLIENT.order} limit $2::int) e
   limit $2::int
), free as (
  select id from events
   where id = any(array(select id from candidates)) and outbox = 'trailing' and ${isFree('lease_until')}
     for update skip locked
), marked as (
  update events v set outbox = case
      when exists (select from deliveries d where d.event_id = v.id and d.status = 'pending' and d.owner is null)
      then 'start' else 'done' end::outbox_state
   where v.id = any(array(select id from free))
  returning v.outbox
)
select count(*) filter (where outbox = 'done')::int as skipped, count(*) filter (where outbox <> 'done')::int as due
  from marked`;
