import type { Handle } from '../database/database.js';
import type { OutboxState } from '../database/generated/enums.js';
import { waitingEvents } from './lease-events.js';

/** Rows of a backlog that are counted, at most. A larger count would cost a scrape more than it is worth. */
export const COUNTED = 100_000;
/** A delivery this late is overdue, s. An attempt takes less than this. */
export const OVERDUE_AFTER = 60;

/** The outbox states in which an event waits. */
export const WAITING_STATES = ['attempt', 'start', 'trailing'] as const satisfies readonly OutboxState[];
type WaitingState = (typeof WAITING_STATES)[number];

/** The rows that wait in the tables. Ages are in seconds, 0 when no row waits. */
export interface Backlog {
  /** Events in each state before `done`; at most 100,000 each. */
  events: Record<WaitingState, number>;
  oldestEventAge: Record<WaitingState, number>;
  /** Pending deliveries whose next attempt is planned for later; at most 100,000, as are those `overdue`. */
  sleeping: number;
  overdue: number;
  mostOverdue: number;
  /** Age of the oldest event that is kept. */
  oldestKeptAge: number;
}

/**
 * Reads the backlog from partial indexes alone. The cost grows with the waiting rows, up to a bound, not with finished
 * ones.
 */
export async function readBacklog(db: Handle): Promise<Backlog> {
  const [row] = await db.query<{ backlog: Backlog }>(BACKLOG, [COUNTED, OVERDUE_AFTER]);
  if (!row) throw new Error('the backlog has no row');
  return row.backlog;
}

const ofEachState = (read: (state: WaitingState) => string) =>
  `json_build_object(${WAITING_STATES.map((state) => `'${state}', ${read(state)}`).join(', ')})`;
const eventsIn = (state: string) =>
  `(select count(*) from (select from events where outbox = '${state}' and outbox <> 'done' limit $1::int) e)`;
const oldestIn = (state: string) =>
  `coalesce((select ${ageOf('min(since)')} from oldest where outbox = '${state}'), 0)`;
const ageOf = (time: string) => `greatest(0, extract(epoch from now() - ${time}))`;

const OF_LINE = waitingEvents('e', 'l.outbox', 'l.client_id');

/**
 * A loose index scan, as in `leaseEvents`, finds the oldest event of each client, and thus the oldest of each state.
 */
const BACKLOG = `
with recursive lines as (
  (select outbox, client_id from events where outbox <> 'done' order by outbox, client_id limit 1)
  union all
  select next.outbox, next.client_id
    from lines l cross join lateral (
      select e.outbox, e.client_id from events e
       where e.outbox <> 'done' and (e.outbox, e.client_id) > (l.outbox, l.client_id)
       order by e.outbox, e.client_id limit 1) next
), oldest as (
  select l.outbox, e.created_at as since
    from lines l cross join lateral (
      select e.created_at from events e
       where ${OF_LINE.where} order by ${OF_LINE.order} limit 1) e
)
select json_build_object(
  'events', ${ofEachState(eventsIn)},
  'oldestEventAge', ${ofEachState(oldestIn)},
  'sleeping', (select count(*) from (
     select from deliveries where status = 'pending' and next_attempt_at > now() limit $1::int) d),
  'overdue', (select count(*) from (
     select from deliveries where status = 'pending' and next_attempt_at < now() - $2::int * interval '1 second'
      limit $1::int) d),
  'mostOverdue', coalesce((select ${ageOf('next_attempt_at')} from deliveries
      where status = 'pending' and next_attempt_at < now() - $2::int * interval '1 second'
      order by next_attempt_at limit 1), 0),
  'oldestKeptAge', coalesce((select ${ageOf('created_at')} from events order by id limit 1), 0)
) as backlog`;
