import type { Registry } from 'prom-client';
import { type Handle, rowOf } from '../platform/database/database.js';
import { readingGauges, sharedGauges } from '../platform/telemetry/gauges.js';

/** Rows of a backlog that are counted, at most. A larger count would cost a scrape more than it is worth. */
export const COUNTED = 100_000;
/** Lines of the queue whose first attempt is looked at. */
const LINES = 1_000;
/** A delivery this late is overdue, s. An attempt takes less than this. */
export const OVERDUE_AFTER = 60;

/** What waits: attempts in the queue (`attempt`), and events for their workflow, by the state of the outbox. */
export const WAITING_STATES = ['attempt', 'again', 'start', 'delivered'] as const;
type WaitingState = (typeof WAITING_STATES)[number];

/** The rows that wait in the tables. Ages are in seconds, 0 when no row waits. */
export interface Backlog {
  /** At most 100,000 attempts, and 100,000 events in all states. */
  waiting: Record<WaitingState, number>;
  /** Of an attempt, the time since it was due, where no attempt at its endpoint is in flight. */
  oldestAge: Record<WaitingState, number>;
  /** Pending deliveries that sleep until their next attempt; at most 100,000, as are those `overdue`. */
  sleeping: number;
  overdue: number;
  mostOverdue: number;
  /** Age of the oldest event that is kept. */
  oldestKeptAge: number;
}

/**
 * Reads the backlog. The cost grows with the waiting rows, up to a bound, not with finished ones.
 */
export async function readBacklog(db: Handle): Promise<Backlog> {
  const { backlog } = await rowOf<{ backlog: Backlog }>(db, BACKLOG, [COUNTED, OVERDUE_AFTER]);
  return backlog;
}

const EVENT_STATES = WAITING_STATES.filter((state) => state !== 'attempt');
const ofEachState = (attempt: string, read: (state: string) => string) =>
  `json_build_object('attempt', ${attempt}, ${EVENT_STATES.map((state) => `'${state}', ${read(state)}`).join(', ')})`;
const eventsIn = (state: string) => `(select count(*) from counted where state = '${state}')`;
const ageOf = (time: string) => `greatest(0, extract(epoch from now() - ${time}))`;
const oldestIn = (state: string) => `coalesce((select ${ageOf('min(since)')} from oldest where state = '${state}'), 0)`;
/** An endpoint with an attempt in flight is served, however long its lines are. */
const OLDEST_ATTEMPT = `coalesce((
     select ${ageOf('min(due_at)')} from heads
      where endpoint_id not in (select endpoint_id from queue where lease_until > now())), 0)`;
const OLDEST_QUEUED = `coalesce((select ${ageOf('min(due_at)')} from (select due_at from queue limit $1::int) q), 0)`;
const LATE = `now() - $2::int * interval '1 second'`;

/**
 * A loose index scan, as in `leaseEvents`, finds the oldest event of each client, and thus the oldest of each state.
 */
const BACKLOG = `
with recursive heads as (
  (select endpoint_id, line, due_at, 1 as position from queue where lease_until is null
    order by endpoint_id, line, due_at limit 1)
  union all
  select next.endpoint_id, next.line, next.due_at, h.position + 1
    from heads h cross join lateral (
      select q.endpoint_id, q.line, q.due_at from queue q
       where q.lease_until is null and (q.endpoint_id, q.line) > (h.endpoint_id, h.line)
       order by q.endpoint_id, q.line, q.due_at limit 1) next
   where h.position < ${LINES}
), lines as (
  (select o.client_id, o.state, o.event_id from outbox o order by o.client_id, o.state, o.event_id limit 1)
  union all
  select next.client_id, next.state, next.event_id
    from lines l cross join lateral (
      select o.client_id, o.state, o.event_id from outbox o
       where (o.client_id, o.state) > (l.client_id, l.state) order by o.client_id, o.state, o.event_id limit 1) next
), oldest as (
  select l.state, v.created_at as since from lines l join events v on v.id = l.event_id
), counted as (
  select state from outbox limit $1::int
)
select json_build_object(
  'waiting', ${ofEachState('(select count(*) from (select from queue limit $1::int) q)', eventsIn)},
  'oldestAge', ${ofEachState(OLDEST_ATTEMPT, oldestIn)},
  'sleeping', (select count(*) from (
     select from deliveries where asleep and next_attempt_at > now() limit $1::int) d),
  'overdue', (select count(*) from (
     select from deliveries where asleep and next_attempt_at < ${LATE} limit $1::int) d)
     + (select count(*) from (select from queue where due_at < ${LATE} limit $1::int) q),
  'mostOverdue', greatest(
     coalesce((select ${ageOf('next_attempt_at')} from deliveries where asleep and next_attempt_at < ${LATE}
                order by next_attempt_at limit 1), 0),
     case when ${OLDEST_QUEUED} > $2::int then ${OLDEST_QUEUED} else 0 end),
  'oldestKeptAge', coalesce((select ${ageOf('created_at')} from events order by id limit 1), 0)
) as backlog`;

/**
 * Registers the gauges of the backlog in Postgres. They describe the whole environment and have the same value in every
 * process that delivers. They are NaN while the backlog cannot be read. @param retention in ms
 */
export function measureBacklog(registry: Registry, readBacklog: () => Promise<Backlog>, retention: number): void {
  const { read, gauge, gaugeOfEach } = sharedGauges(registry, readBacklog);
  const states = ['state', WAITING_STATES] as const;
  readingGauges(registry)(
    'webhook_backlog_up',
    'Whether Postgres returned the backlog. If 0, the gauges below are NaN.',
    async () => ((await read()) ? 1 : 0),
  );
  gaugeOfEach(
    'webhook_outbox_events',
    `Rows of the queue (\`attempt\`), and events that wait for their workflow, by their state in the outbox; up to ${COUNTED} of each.`,
    states,
    ({ waiting }) => waiting,
  );
  gaugeOfEach(
    'webhook_outbox_oldest_age_seconds',
    'How long the oldest of them waits: an attempt since it was due, of endpoints without an attempt in flight; an event since it was made.',
    states,
    ({ oldestAge }) => oldestAge,
  );
  gauge('webhook_deliveries_sleeping', `Sleeping deliveries; up to ${COUNTED}.`, ({ sleeping }) => sleeping);
  gauge(
    'webhook_deliveries_overdue',
    `Deliveries whose next attempt was due more than ${OVERDUE_AFTER} s ago; up to ${COUNTED}.`,
    ({ overdue }) => overdue,
  );
  gauge(
    'webhook_most_overdue_seconds',
    'How late the most overdue attempt is; 0 if none is.',
    ({ mostOverdue }) => mostOverdue,
  );
  gauge('webhook_oldest_event_age_seconds', 'Age of the oldest retained event.', ({ oldestKeptAge }) => oldestKeptAge);
  readingGauges(registry)('webhook_retention_seconds', 'The setting `RETENTION`.', () => retention / 1_000);
}

/** The attempts that a process holds in memory. */
export interface InMemory {
  slots: { active: number; waiting: number };
  recorder: { waiting: number };
  workers: { count: number };
  listener: { isUp: boolean };
}

/** Registers the gauges of the attempts that this process holds in memory. Only a process that delivers has them. */
export function measureAttempts(registry: Registry, { slots, recorder, workers, listener }: InMemory): void {
  const gauge = readingGauges(registry);
  gauge('webhook_attempts_in_flight', 'Attempts in flight in this process.', () => slots.active);
  gauge(
    'webhook_attempts_waiting',
    'Leased attempts, first ones and retries, waiting in memory for a slot.',
    () => slots.waiting,
  );
  gauge('webhook_workers', 'Live workers, as this process counts them.', () => workers.count);
  gauge(
    'webhook_listener_up',
    'Whether this process hears the notifications of new attempts. If 0, first attempts wait for a scan.',
    () => Number(listener.isUp),
  );
  gauge('webhook_records_waiting', 'Attempts waiting to be recorded.', () => recorder.waiting);
}
