import { type Handle, readClock, rowOf, timeLimited } from '../platform/database/database.js';
import { lowestIdOf, timeOf } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { AttemptError } from '../platform/vocabulary.js';
import { failingSinceOf, HOUR, type HourCount, newestHours, quantileOf, sumOf } from './hours.js';

/**
 * SQL: the newest deliveries of an endpoint in one status. Only the index on (endpoint, status, id) has their order:
 * its column before the id is compared as a range (see `exactly`).
 * @param of.endpoint of.status of.limit SQL expressions
 * @param of.within a condition on the id
 */
export function newestDeliveries(
  columns: string,
  of: { endpoint: string; status: string; within?: string; limit: string | number },
): string {
  const { endpoint, status, within = 'true', limit } = of;
  return `select ${columns} from deliveries
    where endpoint_id = ${endpoint} and status >= ${status} and status <= ${status} and ${within}
    order by status, id desc limit ${limit}`;
}

/**
 * SQL: the oldest pending deliveries of the endpoint `e`, with their rung and the time of the last attempt of their
 * ladder. Two bounds on the status: see `newestDeliveries`.
 */
export const pendingLadders = (limit: number) => `
  select d.rung, d.next_attempt_at + rest.delay as ends_at
    from (select next_attempt_at, rung, ladder from deliveries
           where endpoint_id = e.id and status >= 'pending' and status <= 'pending'
           order by status desc, id limit ${limit}) d
   cross join lateral (
    select coalesce(sum(x.delay), interval '0') as delay
      from unnest(string_to_array(d.ladder, ',')::interval[]) with ordinality x(delay, position)
     where x.position > d.rung) rest`;

/** Longest pause that a receiver can ask for by `Retry-After`, s. */
export const LONGEST_PAUSE = 600;
/**
 * SQL: whether the receiver of the endpoint `e` is spared, since it asked for a pause. A time further ahead than any
 * pause is of another clock.
 */
export const SPARED = `e.slowed_until > now() and e.slowed_until <= now() + interval '${LONGEST_PAUSE} seconds'`;

/** Hours that health shows: the current one, which has only begun, and 23 before it. */
export const SHOWN_HOURS = 24;
/** Pending deliveries of one endpoint that are counted. */
export const COUNTED_PENDING = 1_000;
/** Pending deliveries of one endpoint, the newest, among which the next attempt is looked for. */
const LOOKED_AT_PENDING = 100;
/** Failed and cancelled deliveries of one endpoint since its last success that are counted. */
const COUNTED_ENDED = 100;
/** ms */
const TIME_LIMIT = 3_000;
/** ms, for a list of all clients' endpoints. */
const LIST_TIME_LIMIT = 20_000;

/** An endpoint's attempts and pending deliveries, for its owner to see whether the receiver works. */
export type EndpointHealth = ReturnType<typeof toHealth>;

/** The columns of `LATEST`. */
interface Latest {
  id: string;
  lastSuccessAt: Date | null;
  failureAt: Date | null;
  error: AttemptError;
  responseStatus: number | null;
  failingSince: Date | null;
}

interface Row extends Latest {
  hours: readonly HourCount<string>[] | null;
  pending: number;
  nextAttemptAt: Date | null;
  oldestPending: string | null;
  ended: number;
  slowedUntil: Date | null;
}

/**
 * Reads the health of a client's endpoints, or of one of them. What it reads of each endpoint is bounded, whatever the
 * number of its deliveries: attempts come from the hourly counts (hours.ts), pending deliveries from their
 * index. Postgres ends a read that takes longer than 3 s.
 * @returns by endpoint id
 */
export function readEndpointHealth(
  db: Handle,
  clientId: string,
  { endpointId, now: given }: { endpointId?: string; now?: number } = {},
): Promise<ReadonlyMap<string, EndpointHealth>> {
  return timeLimited(db, TIME_LIMIT, async (tx) => {
    const now = given ?? (await readClock(tx));
    const first = now - (now % HOUR) - (SHOWN_HOURS - 1) * HOUR;
    const rows = await tx.query<Row>(HEALTH, [clientId, endpointId ?? null]);
    return new Map(rows.map((row) => [row.id, toHealth(row, first)]));
  });
}

/** Reads the health of one endpoint of the client. @throws Refusal not_found */
export async function getEndpointHealth(db: Handle, clientId: string, endpointId: string): Promise<EndpointHealth> {
  const health = (await readEndpointHealth(db, clientId, { endpointId })).get(endpointId);
  if (!health) throw new Refusal('not_found', 'There is no such webhook endpoint.');
  return health;
}

/** SQL: the counts `h` of the newest 48 hours with attempts at the endpoint `e`. Older ones are for plots alone. */
const RECENT = `(${newestHours('e.id', 48)}) h`;

/**
 * SQL: the latest success of the endpoint `e`, the latest failure of the newest hours, and the start of the run of
 * failures that the latest attempt is in. A success from before the counted hours is known by its delivery.
 */
export const LATEST = `
  left join lateral (
   ${newestDeliveries('finished_at as at', { endpoint: 'e.id', status: `'succeeded'`, limit: 1 })}) delivered on true
 cross join lateral (
   select greatest(max(h.last_success_at), delivered.at) as at from ${RECENT}) success
  left join lateral (
   select h.last_failure_at as at, h.last_error as error, h.last_response_status as status from ${RECENT}
    where h.last_failure_at is not null order by h.last_failure_at desc limit 1) failure on true
 cross join lateral (
   select min(${failingSinceOf('h', 'success.at')}) as since from ${RECENT}) failing`;
const LATEST_COLUMNS = `e.id::text, success.at as "lastSuccessAt", failure.at as "failureAt", failure.error,
       failure.status as "responseStatus", failing.since as "failingSince"`;

const PENDING = { endpoint: 'e.id', status: `'pending'` };

/** Deliveries of events since the last success that ended without one. */
const ENDED = (status: string) =>
  newestDeliveries('', {
    ...{ endpoint: 'e.id', status: `'${status}'`, limit: COUNTED_ENDED + 1 },
    within: `id >= ${lowestIdOf(`coalesce(success.at, '1970-01-01')`)}`,
  });

const HEALTH = `
select ${LATEST_COLUMNS}, counted.hours, pending.count as pending, next.at as "nextAttemptAt",
       oldest.id::text as "oldestPending", ended.count as ended, e."slowedUntil"
  from (select e.id, case when ${SPARED} then e.slowed_until end as "slowedUntil" from webhook_endpoints e
         where client_id = $1::uuid and deleted_at is null and ($2::uuid is null or id = $2::uuid)) e${LATEST}
 cross join lateral (select json_agg(h) as hours from ${RECENT}) counted
 cross join lateral (
   select count(*)::int as count from (
     ${newestDeliveries('', { ...PENDING, limit: COUNTED_PENDING + 1 })}) p) pending
 cross join lateral (
   select min(next_attempt_at) as at from (
     ${newestDeliveries('next_attempt_at', { ...PENDING, limit: LOOKED_AT_PENDING })}) p) next
  left join lateral (
   select id from deliveries where endpoint_id = e.id and status >= 'pending' and status <= 'pending'
    order by status desc, id limit 1) oldest on true
 cross join lateral (
   select count(*)::int as count from (
     select from ((${ENDED('failed')}) union all (${ENDED('cancelled')})) ends limit ${COUNTED_ENDED + 1}) f) ended`;

function toHealth({ nextAttemptAt, oldestPending, pending, ended, slowedUntil, ...row }: Row, first: number) {
  const shown = row.hours?.filter((hour) => Date.parse(hour.hour) >= first) ?? [];
  const byHour = new Map(shown.map((hour) => [Date.parse(hour.hour), hour]));
  const hours = Array.from({ length: SHOWN_HOURS }, (_, i) => {
    const { succeeded, failed } = byHour.get(first + i * HOUR) ?? { succeeded: 0, failed: 0 };
    return { start: new Date(first + i * HOUR), succeeded, failed };
  });
  const times = sumOf(shown.map((hour) => hour.answer_times));
  const [p50, p95] = [quantileOf(times, 0.5), quantileOf(times, 0.95)];
  return {
    ...latestOf(row),
    /** The receiver asked for a pause: it gets one attempt at once until then; null: it did not. */
    slowedUntil,
    /** The attempts that started in each of the `SHOWN_HOURS`, oldest first. */
    hours,
    succeeded: hours.reduce((sum, hour) => sum + hour.succeeded, 0),
    failed: hours.reduce((sum, hour) => sum + hour.failed, 0),
    /** The receiver's time to answer, ms; null: it has not answered in these hours. */
    answerTime: p50 === null || p95 === null ? null : { p50, p95 },
    /** `more`: than `count`. `nextAttemptAt`: of more than a hundred deliveries, a time by which it is made. */
    pending: { count: Math.min(pending, COUNTED_PENDING), more: pending > COUNTED_PENDING, nextAttemptAt },
    /** The time of the oldest event with a pending delivery; null: none. */
    pendingSince: oldestPending === null ? null : new Date(timeOf(oldestPending)),
    /** Failed and cancelled deliveries of events since the last success, which a recovery would send. */
    ended: { count: Math.min(ended, COUNTED_ENDED), more: ended > COUNTED_ENDED },
  };
}

/** Null: none is known. `failingSince`: also null after a success. */
function latestOf({ lastSuccessAt, failingSince, failureAt: at, error, responseStatus }: Latest) {
  return { lastSuccessAt, failingSince, lastFailure: at && { at, error, responseStatus } };
}

/** An endpoint of any client whose latest attempt failed. */
export type FailingEndpoint = Awaited<ReturnType<typeof listFailingEndpoints>>[number];

/**
 * Lists the endpoints whose latest attempt failed, newest endpoint first, for the operator. The list includes those
 * that the service disabled. It reads the newest hour of each endpoint, and all its hours only if that ends with a
 * failure.
 * @param of.before only ids below this one
 */
export async function listFailingEndpoints(
  db: Handle,
  of: { clientId: string | undefined; before: string | undefined; take: number },
) {
  const values = [of.clientId ?? null, of.before ?? null, of.take];
  const rows = await timeLimited(db, LIST_TIME_LIMIT, (tx) => tx.query<Latest & Ending>(FAILING, values));
  return rows.map((row) => ({ id: row.id, pending: row.pending, firstEndsAt: row.firstEndsAt, ...latestOf(row) }));
}

/** `pending`: counted up to `COUNTED_PENDING`. `firstEndsAt`: the end of the first ladder of the oldest of them. */
type Ending = { pending: number; firstEndsAt: Date | null };

const FAILING = `
select ${LATEST_COLUMNS}, pending.count as pending, pending.first_ends_at as "firstEndsAt"
  from webhook_endpoints e
 cross join lateral (
   ${newestHours('e.id', 1)}) newest${LATEST}
 cross join lateral (
   select count(*)::int as count, min(ends_at) as first_ends_at from (${pendingLadders(COUNTED_PENDING)}) p) pending
 where e.deleted_at is null and ($1::uuid is null or e.client_id = $1::uuid) and ($2::uuid is null or e.id < $2::uuid)
   and (e.enabled or e.disabled_reason in ('failing', 'gone'))
   and newest.last_failure_at > coalesce(newest.last_success_at, '-infinity') and failing.since is not null
 order by e.id desc limit $3::int`;

/**
 * Whether an endpoint whose delivery has just been exhausted is failing: since it was enabled, it has had no success
 * for `disableAfter` ms and failures during all that time, over at least two exhausted deliveries.
 * The read is bounded, whatever the endpoint's past.
 * @param disableAfter ms; 0: never
 */
export async function isFailing(db: Handle, endpointId: string, disableAfter: number): Promise<boolean> {
  if (disableAfter === 0) return false;
  return (await rowOf<{ failing: boolean }>(db, IS_FAILING, [endpointId, disableAfter])).failing;
}

/** Ended deliveries of an endpoint that are read in one status and range of ids. */
const LOOKED_AT_ENDED = 100;

const ended = (columns: string, status: string, within = 'true') =>
  newestDeliveries(columns, { endpoint: 'e.id', status: `'${status}'`, within, limit: LOOKED_AT_ENDED });

/**
 * The latest success is nearly always one of the newest deliveries that succeeded. A retry of an older one may have
 * succeeded later; the hourly counts know it for 48 hours. A failure from before the period is one of the newest
 * deliveries that failed, or one of the newest of that age.
 */
const IS_FAILING = `
with period as (
  select e.id, now() - $2::bigint * interval '1 millisecond' as began, greatest(
           e.enabled_at,
           (select max(s.finished_at) from (${ended('finished_at', 'succeeded')}) s),
           (select max(h.last_success_at) from ${RECENT})) as succeeded_at
    from webhook_endpoints e where e.id = $1::uuid
), failed as (
  select f.id, f.created_at from period e cross join lateral (
    (${ended('id, created_at, finished_at', 'failed')})
    union
    (${ended('id, created_at, finished_at', 'failed', `id < ${lowestIdOf('e.began')}`)})) f
   where e.succeeded_at <= e.began and f.finished_at > e.succeeded_at
)
select count(*) >= 2 and coalesce(min(created_at) <= (select began from period), false) as failing from failed`;
