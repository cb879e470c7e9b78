import type { Handle } from '../database/database.js';

/** How much of a backlog is counted: what is beyond costs a scrape more than it tells. */
export const COUNTED = 100_000;
/** A delivery this far behind its plan is overdue: longer than an attempt takes, s. */
export const OVERDUE_AFTER = 60;

/** What waits in the tables. Ages in seconds, 0 where nothing waits. */
export interface Backlog {
  /** Events whose first attempts are not over, and those that wait for their workflow; at most 100,000 each. */
  events: { attempt: number; start: number };
  oldestEventAge: { attempt: number; start: number };
  /** Pending deliveries whose next attempt is planned for later; at most 100,000, as are those `overdue`. */
  sleeping: number;
  overdue: number;
  mostOverdue: number;
  /** Of the oldest event that is kept. */
  oldestKeptAge: number;
}

/** Reads it by the partial indexes alone: the cost grows with what waits, up to a bound, never with what is done. */
export async function readBacklog(db: Handle): Promise<Backlog> {
  const [row] = await db.query<{ backlog: Backlog }>(BACKLOG, [COUNTED, OVERDUE_AFTER]);
  if (!row) throw new Error('the backlog has no row');
  return row.backlog;
}

const eventsIn = (state: string) =>
  `(select count(*) from (select from events where outbox = '${state}' and outbox <> 'done' limit $1::int) e)`;
const oldestIn = (state: string) =>
  `coalesce((select ${ageOf('min(since)')} from oldest where outbox = '${state}'), 0)`;
const ageOf = (time: string) => `greatest(0, extract(epoch from now() - ${time}))`;

/** The oldest event of a state is the oldest of its clients' oldest: a loose index scan, as `leaseEvents` has it. */
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
      select created_at from events
       where outbox = l.outbox and outbox <> 'done' and client_id = l.client_id order by id limit 1) e
)
select json_build_object(
  'events', json_build_object('attempt', ${eventsIn('attempt')}, 'start', ${eventsIn('start')}),
  'oldestEventAge', json_build_object('attempt', ${oldestIn('attempt')}, 'start', ${oldestIn('start')}),
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
