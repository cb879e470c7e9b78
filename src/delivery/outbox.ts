import { type Handle, rowOf } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { Periodic } from '../platform/periodic.js';
import { lowestIdBefore } from '../platform/retention.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import type { LeasedAttempt } from './handover.js';
import { isFree, LEASE } from './lease.js';

/** States in which an event waits for its workflow. */
export const DUE_STATES = ['again', 'start', 'delivered'] as const;
export type DueState = (typeof DUE_STATES)[number];

/** Events of one client in one batch, at most, so that the other clients get theirs. */
const SHARE = 50;

/** An event, as its workflow is started from it. */
export interface EventRow extends Pick<LeasedAttempt, 'eventId' | 'clientId' | 'body' | 'traceparent'> {
  transferId: string;
  type: string;
}

/** An event that this process has leased, to start its workflow. */
export interface LeasedEvent extends EventRow {
  /** The end of the lease, as text of full precision: `markDone` compares it. */
  lease: string;
}

/**
 * Leases up to `limit` events in `state`: in turn across clients, the oldest of each client first. A loose index scan
 * finds the clients, so that one client's backlog of a million events costs the others nothing.
 */
export function leaseEvents(db: Handle, state: DueState, limit: number): Promise<LeasedEvent[]> {
  return db.query<LeasedEvent>(LEASE_EVENTS, [state, limit, SHARE]);
}

/**
 * Marks events done whose workflow knows their state, unless a record has changed it since the lease.
 */
export async function markDone(db: Handle, state: DueState, events: readonly LeasedEvent[]): Promise<void> {
  await db.query(MARK_DONE, [...keysOf(events), state]);
}

/** Ends the leases after so many seconds. */
export async function releaseEvents(db: Handle, events: readonly LeasedEvent[], after: number): Promise<void> {
  await db.query(RELEASE, [...keysOf(events), after]);
}

const keysOf = (events: readonly LeasedEvent[]) => [
  events.map(({ eventId }) => eventId),
  events.map(({ lease }) => lease),
];

/**
 * Marks up to `limit` delivered events done without a workflow: those made longer ago than `trail` (ms, by Postgres's
 * clock) that no process has leased, oldest first of each client. The statement waits for no lock.
 * @returns how many it marked, and how many have a pending delivery and are due for their workflow after all
 */
export async function skipWorkflows(db: Handle, trail: number, limit: number) {
  return rowOf<{ skipped: number; due: number }>(db, SKIP, [await lowestIdBefore(db, trail), limit]);
}

const IN_OUTBOX = `in ('delivered', 'start', 'again')`;

/**
 * SQL: events in `state`, of one client, in an order that only the index of the outbox serves. With equalities and
 * `order by id`, Postgres may walk the primary key through every event that is done, while it has no statistics.
 */
export function dueEvents(alias: string, state: string, clientId: string): { where: string; order: string } {
  const line = `(${alias}.outbox, ${alias}.client_id)`;
  return {
    where: `${alias}.outbox ${IN_OUTBOX} and ${line} >= (${state}, ${clientId}) and ${line} <= (${state}, ${clientId})`,
    order: `${alias}.outbox, ${alias}.client_id, ${alias}.id`,
  };
}

/** SQL: the clients with events in `state`, by a loose index scan. */
const clientsIn = (state: string) => `clients as (
  (select client_id from events where outbox >= ${state} and outbox <= ${state} and outbox ${IN_OUTBOX}
    order by outbox, client_id limit 1)
  union all
  select (select e.client_id from events e
           where e.outbox ${IN_OUTBOX} and e.outbox <= ${state} and (e.outbox, e.client_id) > (${state}, c.client_id)
           order by e.outbox, e.client_id limit 1)
    from clients c where c.client_id is not null
)`;

const STATE = '$1::outbox_state';
const OF_CLIENT = dueEvents('e', STATE, 'c.client_id');

/**
 * Each client's rows are locked as they are found. Statements of several workers at the same moment thus get different
 * rows. Clients whose events are all leased take no part of the batch.
 *
 * Postgres cannot estimate how many rows `share` and a condition on two columns choose. It would scan the table for an
 * `exists`, and for a join with `free`; it does not for the first row in the order of the index, and for an array of ids.
 */
const LEASE_EVENTS = `
with recursive ${clientsIn(STATE)}, chosen as materialized (
  select client_id, greatest(1, least($3::int, $2::int / count(*) over ())) as share
    from clients c
   where client_id is not null and (
     select true from events e
      where ${OF_CLIENT.where} and ${isFree('e.lease_until')} order by ${OF_CLIENT.order} limit 1)
   order by random() limit $2::int
), free as materialized (
  select w.id
    from chosen c cross join lateral (
      select id from events e
       where ${OF_CLIENT.where} and ${isFree('e.lease_until')}
       order by ${OF_CLIENT.order} limit c.share
         for update skip locked) w
), leased as (
  update events v set lease_until = now() + interval '${LEASE.seconds} seconds'
   where v.id = any(array(select id from free))
returning v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent,
          v.lease_until::text as lease
)
select * from leased order by "eventId"`;

const HELD = `v.id = l.id and v.lease_until = l.lease::timestamptz and v.outbox ${IN_OUTBOX}`;

const MARK_DONE = `
update events v set outbox = 'done' from unnest($1::uuid[], $2::text[]) as l(id, lease)
 where ${HELD} and v.outbox = $3::outbox_state`;

const RELEASE = `
update events v set lease_until = now() + $3::int * interval '1 second' from unnest($1::uuid[], $2::text[]) as l(id, lease)
 where ${HELD}`;

const DELIVERED = dueEvents('e', "'delivered'::outbox_state", 'c.client_id');

/**
 * An id says when its event was made, so each client's part of the index ends at its first younger event. For an `exists`
 * on deliveries Postgres might read all pending ones.
 */
const SKIP = `
with recursive ${clientsIn(`'delivered'::outbox_state`)}, candidates as (
  select e.id
    from clients c cross join lateral (
      select e.id from events e
       where ${DELIVERED.where} and e.id < $1::uuid and ${isFree('e.lease_until')}
       order by ${DELIVERED.order} limit $2::int) e
   limit $2::int
), free as (
  select id from events
   where id = any(array(select id from candidates)) and outbox = 'delivered' and ${isFree('lease_until')}
     for update skip locked
), marked as (
  update events v set outbox = case
      when (select true from deliveries d where d.event_id = v.id and d.status = 'pending' limit 1)
      then 'start' else 'done' end::outbox_state
   where v.id = any(array(select id from free))
  returning v.outbox
)
select count(*) filter (where outbox = 'done')::int as skipped, count(*) filter (where outbox <> 'done')::int as due
  from marked`;

const INTERVAL = 5_000;
/** Events of one statement: some tens of ms for Postgres. */
const BATCH = 500;

/**
 * Bounds the backlog of a lasting overload. A delivered event whose workflow has not started in time is marked done
 * without one, also while Temporal is unavailable. An event with a pending or failed delivery waits for its workflow.
 * @param trail WORKFLOWS_TRAIL, ms
 */
export function skipWorkflowsLoop(
  db: Handle,
  trail: number,
  metrics: Pick<Metrics, 'workflowsSkipped'>,
  log: Log,
): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    run: async () => {
      let skipped = 0;
      let batch: number;
      do {
        const marked = await skipWorkflows(db, trail, BATCH);
        metrics.workflowsSkipped(marked.skipped);
        skipped += marked.skipped;
        batch = marked.skipped + marked.due;
      } while (batch === BATCH && !loop.stopped);
      if (skipped > 0) log.info({ events: skipped }, 'delivered events are older than WORKFLOWS_TRAIL; no workflow');
    },
    onFault: reportTo(log, 'skipping the workflows of delivered events failed; next try in 5 s'),
  });
  return loop;
}
