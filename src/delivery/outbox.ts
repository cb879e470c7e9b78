import type { WorkflowMode } from '../platform/config/config.js';
import { type Handle, rowOf } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { NIL_ID } from '../platform/ids.js';
import { Periodic } from '../platform/periodic.js';
import { lowestIdBefore } from '../platform/retention.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import type { LeasedAttempt } from './handover.js';
import { isFree } from './lease.js';
import type { LiveWorkers } from './live-workers.js';

/**
 * The outbox: a row for each event whose workflow has something to learn. What changes the event's deliveries inserts
 * the row or raises its state (`tellWorkflows`); the workflow starter deletes it. Raising clears the lease of the row,
 * so that a starter which has read the event before does not delete it.
 */
export type DueState = 'again' | 'start' | 'delivered';

/** An event, as its workflow is started from it. */
export interface EventRow extends Pick<LeasedAttempt, 'eventId' | 'clientId' | 'body' | 'traceparent'> {
  transferId: string;
  type: string;
}

/** An event that this process has leased, to start its workflow. */
export interface LeasedEvent extends EventRow {
  state: DueState;
  /** The end of the lease, as text of full precision: it tells this lease from a later one. */
  lease: string;
}

/**
 * SQL: a CTE that raises the rows of events to a state.
 * @param source a relation with event_id, client_id and state, a row for each event
 */
export const tellWorkflows = (source: string) => `told as (
  insert into outbox as o (event_id, client_id, state)
  select event_id, client_id, state from ${source} order by event_id
  on conflict (event_id) do update set state = excluded.state, lease_until = null where excluded.state <= o.state
)`;

/**
 * Leases up to `limit` events, from at most `limit` clients that follow the client `after`: in turn across clients, the
 * most urgent and then the oldest of each client first. A loose index scan finds the clients, so that one client's
 * backlog of a million events costs the others nothing.
 * @returns `last`: the client after which to go on; null: no further client follows
 */
export async function leaseEvents(
  db: Handle,
  limit: number,
  after: string | null,
): Promise<{ events: LeasedEvent[]; last: string | null }> {
  const row = await rowOf<{ events: LeasedEvent[]; clients: number; last: string | null }>(db, LEASE_EVENTS, [
    limit,
    after ?? NIL_ID,
  ]);
  return { events: row.events, last: row.clients === limit ? row.last : null };
}

/** Deletes the rows of events whose workflows know their state, unless something has changed it since the lease. */
export async function markDone(db: Handle, events: readonly LeasedEvent[]): Promise<void> {
  await db.query(MARK_DONE, keysOf(events));
}

/** Makes the leased rows free again in so many seconds. */
export async function leaseAgain(db: Handle, events: readonly LeasedEvent[], after: number): Promise<void> {
  await db.query(RELEASE, [...keysOf(events), after]);
}

const keysOf = (events: readonly LeasedEvent[]) => [
  events.map(({ eventId }) => eventId),
  events.map(({ lease }) => lease),
];

/**
 * Deletes up to `limit` rows of delivered events: of events made longer ago than `trail` (ms, by Postgres's clock) that
 * no process has leased, oldest first of each client. The statement waits for no lock. The record of a delivery that is
 * still pending inserts a row anew, unless a workflow knows the delivery.
 * @returns how many it deleted
 */
export async function skipWorkflows(db: Handle, trail: number, limit: number): Promise<number> {
  return (await rowOf<{ skipped: number }>(db, SKIP, [await lowestIdBefore(db, trail), limit])).skipped;
}

/**
 * Each client's rows are locked as they are found. Statements of several workers at the same moment thus get different
 * rows.
 */
const LEASE_EVENTS = `
with recursive clients as (
  (select o.client_id, 1 as position from outbox o where o.client_id > $2::uuid order by o.client_id limit 1)
  union all
  select n.client_id, c.position + 1
    from clients c cross join lateral (
      select o.client_id from outbox o where o.client_id > c.client_id order by o.client_id limit 1) n
   where c.position < $1::int
), free as materialized (
  select w.event_id
    from (select client_id, $1::int / count(*) over () as share from clients) c
   cross join lateral (
      select o.event_id from outbox o
       where o.client_id = c.client_id and ${isFree('o.lease_until')}
       order by o.state, o.event_id limit c.share
         for update skip locked) w
   limit $1::int
), leased as (
  update outbox o set lease_until = now() + interval '30 seconds'
   where o.event_id = any(array(select event_id from free))
  returning o.event_id, o.state, o.lease_until
), rows as (
  select v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent,
         l.state, l.lease_until::text as lease
    from leased l join events v on v.id = l.event_id
   order by l.state, v.id
)
select (select coalesce(json_agg(r), '[]') from rows r) as events,
       (select count(*)::int from clients) as clients,
       (select client_id from clients order by position desc limit 1) as last`;

/** SQL: the rows that these leases still hold, locked by id, as those that raise rows lock them. */
const HELD = `held as materialized (
  select o.event_id from unnest($1::uuid[], $2::timestamptz[]) as l(event_id, lease) join outbox o on o.event_id = l.event_id
   where o.event_id = any($1::uuid[]) and o.lease_until = l.lease
   order by o.event_id for update of o
)`;

const MARK_DONE = `
with ${HELD}
delete from outbox where event_id = any(array(select event_id from held))`;

const RELEASE = `
with ${HELD}
update outbox set lease_until = now() + $3::int * interval '1 second' where event_id = any(array(select event_id from held))`;

/** An id says when its event was made, so each client's part of the index ends at its first younger event. */
const SKIP = `
with recursive clients as (
  (select client_id from outbox order by client_id limit 1)
  union all
  select (select o.client_id from outbox o where o.client_id > c.client_id order by o.client_id limit 1)
    from clients c where c.client_id is not null
), free as materialized (
  select o.event_id
    from clients c cross join lateral (
      select o.event_id from outbox o
       where o.client_id = c.client_id and o.state = 'delivered' and o.event_id < $1::uuid and ${isFree('o.lease_until')}
       order by o.event_id limit $2::int
         for update skip locked) o
   limit $2::int
), skipped as (
  delete from outbox where event_id = any(array(select event_id from free))
)
select count(*)::int as skipped from free`;

/** Between two runs, ms: each looks at every client with a row. */
const INTERVAL = 5_000;
/** Events of one statement: some tens of ms for Postgres. */
const BATCH = 500;

export interface SkipOptions {
  db: Handle;
  workflows: WorkflowMode;
  workers: Pick<LiveWorkers, 'isFirst'>;
  /** WORKFLOWS_TRAIL, ms */
  trail: number;
  metrics: Pick<Metrics, 'workflowsSkipped'>;
  log: Log;
}

/**
 * Bounds the backlog of a lasting overload. A delivered event whose workflow has not started in time gets none, also
 * while Temporal is unavailable. With `retries-only` it would get none anyway. An event with a failed delivery waits
 * for its workflow. The first of the live workers does it.
 */
export function skipWorkflowsLoop({ db, workflows, workers, trail, metrics, log }: SkipOptions): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    isDue: async () => workers.isFirst,
    async run() {
      let skipped = BATCH;
      while (skipped === BATCH && !loop.stopped) {
        skipped = await skipWorkflows(db, trail, BATCH);
        if (workflows === 'every-event') metrics.workflowsSkipped(skipped);
      }
    },
    onFault: reportTo(log, 'skipping the workflows of delivered events failed; next try in 5 s'),
  });
  return loop;
}
