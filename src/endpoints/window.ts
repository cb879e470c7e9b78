import pLimit from 'p-limit';
import { atomically, type Handle, readClock, rowOf, tryLockInTransaction } from '../platform/database/database.js';
import { DeliveryStatus } from '../platform/database/generated/enums.js';
import { within } from '../platform/deadline.js';
import { lowestIdAt } from '../platform/ids.js';
import { describeLimit, isTooLong, LIMITS, MAX_WINDOW_DAYS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Refusal } from '../platform/refusal.js';
import type { DisabledReason } from '../platform/vocabulary.js';

/** Time limit of one answer, the wait for its turn included, ms. */
const TIME_LIMIT = 5_000;
/** Answers that a process works on at the same time, so that they leave the pool's connections to other requests. */
const AT_ONCE = 2;

const limit = new PostgresLimit('statements', LIMITS.statements);
const turns = pLimit(AT_ONCE);
/** Clients for which this process reads. A further request costs nothing, waits for no turn and does not count. */
const reading = new Set<string>();

/**
 * Reads with the limits of statements: one at a time for a client and 20 a minute, both over all processes, and 5 s.
 * Postgres ends a statement that takes longer.
 * @param clientId null: the operator, who has the time limit only
 * @param read makes one statement
 * @throws Refusal statement_limit_reached | unavailable
 */
export function readWithinLimits<T>(db: Handle, clientId: string | null, read: (tx: Handle) => Promise<T>): Promise<T> {
  const deadline = performance.now() + TIME_LIMIT;
  const work = oneAtATime(clientId, () =>
    turns(() => {
      if (performance.now() >= deadline) throw tooLate();
      return atomically(db, (tx) => countFor(tx, clientId, Math.ceil(deadline - performance.now()), () => read(tx)));
    }),
  );
  return within(TIME_LIMIT, work, tooLate);
}

/**
 * Runs the transactions that count within it: as many at a time as statements, with which they share their turns, so
 * that they leave the pool's connections to other requests. They wait without a connection.
 */
export const inCountingTurn = <T>(run: () => Promise<T>): Promise<T> => turns(run);

/**
 * Counts in the caller's transaction, which must be in a counting turn, with the limits of statements.
 * @param clientId null: the operator, who has the time limit only
 * @throws Refusal statement_limit_reached | unavailable
 */
export function countWithinLimits<T>(tx: Handle, clientId: string | null, count: () => Promise<T>): Promise<T> {
  return within(TIME_LIMIT, countFor(tx, clientId, TIME_LIMIT, count), tooLate);
}

/** A statement that fails is not counted, because its transaction is rolled back. It takes its time, one at a time. */
async function countFor<T>(tx: Handle, clientId: string | null, left: number, count: () => Promise<T>): Promise<T> {
  if (left <= 0) throw tooLate();
  if (clientId !== null) {
    if (!(await tryLockInTransaction(tx, `statement of ${clientId}`))) throw busy();
    await limit.consume(tx, clientId);
  }
  await tx.query(SETTINGS, [String(left)]);
  return count();
}

async function oneAtATime<T>(clientId: string | null, work: () => Promise<T>): Promise<T> {
  if (clientId === null) return work();
  if (reading.has(clientId)) throw busy();
  reading.add(clientId);
  return work().finally(() => reading.delete(clientId));
}

function busy(): Refusal {
  const detail = `Limit: ${describeLimit(LIMITS.statementsAtOnce)}. Wait until the other one ends.`;
  return new Refusal('statement_limit_reached', detail, [], { retryAfter: 1 });
}

function tooLate(): Refusal {
  return new Refusal('unavailable', `This took longer than ${TIME_LIMIT / 1_000} s. Request a shorter window.`);
}

/**
 * The time limit, and the plan: only the index of the owner and the range. Without statistics of the last rows, the
 * planner may choose to scan the table, and beside an index with the order it may sort all events of a client. One
 * process of Postgres works on it, so that other statements keep theirs.
 */
const SETTINGS = `
select set_config('statement_timeout', $1::text, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
       set_config('enable_incremental_sort', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
       set_config('jit', 'off', true)`;

/** Periods that a statement shows. */
export const SHOWN_PERIODS = 100;

/** A period in which an endpoint was disabled. `to` null: it lasts. */
export interface DisabledPeriod {
  from: Date;
  to: Date | null;
  reason: DisabledReason;
}

/**
 * @param where the field of the request that is the start of the window
 * @throws Refusal invalid_request if the window is longer than the longest, or began so long ago
 */
export async function refuseTooLong(
  db: Handle,
  window: { since: number; until?: number | undefined },
  where: { pointer: string } | { parameter: string },
): Promise<void> {
  if (!isTooLong(window, await readClock(db))) return;
  const detail = `the window may be at most ${MAX_WINDOW_DAYS} days`;
  const part = 'pointer' in where ? 'body' : 'query';
  throw new Refusal('invalid_request', `The ${part} is invalid; see errors.`, [
    { ...where, code: 'window_too_long', detail },
  ]);
}

/** What became of a client's events at one endpoint. The numbers of the statuses and `missing` add up to `events`. */
export interface EventCounts extends Record<DeliveryStatus, number> {
  events: number;
  /** Events without a delivery for the endpoint. */
  missing: number;
}

/** Events that a statement covers at most: Postgres makes their digest in memory, 37 bytes an event. */
const MOST_EVENTS = 5_000_000;

/** As `readWindow`, with the digest of the events' ids. @throws Refusal unavailable if there are too many events */
export async function readStatementWindow(db: Handle, window: Window) {
  const { digest, ...row } = await readCounts<{ digest: string | null }>(db, WINDOW_WITH_DIGEST, window);
  if (digest === null) {
    const detail = `The window has more than ${MOST_EVENTS.toLocaleString('en')} events. Request a shorter window.`;
    throw new Refusal('unavailable', detail);
  }
  return { ...row, digest };
}

interface Window {
  clientId: string;
  endpointId: string;
  since: number;
  until: number;
}

/** The events of a window, one endpoint's deliveries of them, and the periods that touch it, in one snapshot. */
export const readWindow = (db: Handle, window: Window): Promise<EventCounts & { periods: DisabledPeriod[] }> =>
  readCounts(db, WINDOW, window);

async function readCounts<Others = unknown>(db: Handle, text: string, window: Window) {
  const { clientId, endpointId, since, until } = window;
  const times = [new Date(since).toISOString(), new Date(until).toISOString()];
  const ids = [lowestIdAt(since), lowestIdAt(until)];
  const values = [clientId, endpointId, ...ids, ...times, SHOWN_PERIODS];
  type Row = Others & Omit<EventCounts, 'missing'> & { periods: PeriodRow[] };
  const row = await rowOf<Row>(db, text, values);
  const { events, succeeded, pending, failed, cancelled, periods } = row;
  // An event has at most one delivery for an endpoint, with the event's time in its id.
  const missing = events - succeeded - pending - failed - cancelled;
  return { ...row, missing, periods: periods.map(toPeriod) };
}

/** A period as JSON has it. */
type PeriodRow = { from: string; to: string | null; reason: DisabledReason };

function toPeriod({ from, to, reason }: PeriodRow): DisabledPeriod {
  return { from: new Date(from), to: to === null ? null : new Date(to), reason };
}

const IN_WINDOW = 'id >= $3::uuid and id < $4::uuid';
const STATUSES = Object.values(DeliveryStatus);

/**
 * Every number comes from an index alone: (client, id) of events and (endpoint, status, id) of deliveries, as an id
 * begins with the time of its event. Their order makes Postgres choose them (see `exactly`). The periods of an endpoint
 * do not overlap, so those that touch the window are among the latest that start before its end.
 */
const windowStatement = (events: string) => `
with latest as (
  select started_at, ended_at, reason from endpoint_disabled_periods
   where endpoint_id = $2::uuid and started_at < $6::timestamptz
   order by started_at desc limit $7::int
), counts as (
  select ${STATUSES.map((status) => `count(*) filter (where s.status = '${status}')::int as ${status}`).join(', ')}
    from unnest('{${STATUSES.join()}}'::delivery_status[]) as s(status)
   cross join lateral (
     select from deliveries where endpoint_id = $2::uuid and status >= s.status and status <= s.status and ${IN_WINDOW}
      order by status, id desc) d
)
select of_events.*, counts.*,
       (select coalesce(json_agg(json_build_object('from', started_at, 'to', ended_at, 'reason', reason)
                                 order by started_at), '[]')
          from latest where ended_at is null or ended_at > $5::timestamptz) as periods
  from counts, (${events}) of_events`;

const WINDOW = windowStatement(`
select count(*)::int as events
  from (select from events where client_id >= $1::uuid and client_id <= $1::uuid and ${IN_WINDOW}
         order by client_id, id desc) e`);

/** The order is that of the same index, read backwards. Ids sort as their texts do. */
const WINDOW_WITH_DIGEST = windowStatement(`
select count(*)::int as events,
       case when count(*) <= ${MOST_EVENTS} then
         encode(sha256(convert_to(coalesce(string_agg(id::text || e'\\n', ''), ''), 'UTF8')), 'hex') end as digest
  from (select id from events where client_id >= $1::uuid and client_id <= $1::uuid and ${IN_WINDOW}
         order by client_id desc, id limit ${MOST_EVENTS + 1}) e`);

/** Events that one statement compares with the deliveries of an endpoint, at most. */
export const LOOKED_AT = 10_000;

/**
 * Joins an event `l` with its delivery `d` for the endpoint $1. `offset 0` makes Postgres read the few deliveries of
 * the event. Otherwise, without fresh statistics, it reads all deliveries of the endpoint for each event.
 */
export const LEFT_JOIN_DELIVERY = `
    left join lateral (
      select of_event.* from (
        select id, endpoint_id, status from deliveries where event_id = l.id offset 0) of_event
       where endpoint_id = $1::uuid limit 1) d on true`;
