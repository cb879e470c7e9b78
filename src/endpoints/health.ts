import { type Handle, rowOf, timeLimited } from '../platform/database/database.js';
import { lowestIdOf } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { AttemptError } from '../platform/vocabulary.js';
import { failingSinceOf, HOUR, type HourCount, quantileOf, sumOf } from './hours.js';

/**
 * SQL: the newest deliveries of an endpoint in one status. Only the index on (endpoint, status, id) has their order: its
 * column before the id is compared as a range (see `exactly`).
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

/** Hours that health shows: the current one, which has only begun, and 23 before it. */
export const SHOWN_HOURS = 24;
/** Pending deliveries of one endpoint that are counted. */
export const COUNTED_PENDING = 1_000;
/** Pending deliveries of one endpoint, the newest, among which the next attempt is looked for. */
const LOOKED_AT_PENDING = 100;
/** Events that a disabled endpoint has missed and that are counted. */
export const COUNTED_MISSED = 1_000;
/** ms */
const TIME_LIMIT = 3_000;
/** ms, for a list of all clients' endpoints. */
const LIST_TIME_LIMIT = 20_000;

/** An endpoint's attempts and pending deliveries, for its owner to see whether the receiver works. */
export interface EndpointHealth {
  /** The attempts that started in each of the `SHOWN_HOURS`, oldest first. */
  hours: readonly { start: Date; succeeded: number; failed: number }[];
  succeeded: number;
  failed: number;
  /** The receiver's time to answer, ms; null: it has not answered in these hours. */
  answerTime: { p50: number; p95: number } | null;
  /** Null if no success is known. */
  lastSuccessAt: Date | null;
  /** The latest failure of the last 48 hours. */
  lastFailure: Failure | null;
  /** The first failure after the latest success; null: the latest attempt of the last 48 hours succeeded, or none is known. */
  failingSince: Date | null;
  pending: {
    /** At most `COUNTED_PENDING`. */
    count: number;
    /** There are more than `count`. */
    more: boolean;
    /** The planned time of the next attempt; of more than a hundred deliveries, a time by which it is made. */
    nextAttemptAt: Date | null;
  };
  /** Events made since the endpoint was disabled, which have no delivery for it. Null: it is enabled. */
  missed: { /** At most `COUNTED_MISSED`. */ count: number /** There are more than `count`. */; more: boolean } | null;
}

interface Failure<Time = Date> {
  at: Time;
  error: AttemptError;
  responseStatus: number | null;
}

interface Row {
  endpointId: string;
  hours: readonly HourCount<string>[] | null;
  pending: number;
  nextAttemptAt: string | null;
  lastSuccessAt: string | null;
  missed: number | null;
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
  { endpointId, now = Date.now() }: { endpointId?: string; now?: number } = {},
): Promise<ReadonlyMap<string, EndpointHealth>> {
  const first = now - (now % HOUR) - (SHOWN_HOURS - 1) * HOUR;
  return timeLimited(db, TIME_LIMIT, async (tx) => {
    const rows = await tx.query<Row>(HEALTH, [clientId, endpointId ?? null]);
    return new Map(rows.map((row) => [row.endpointId, toHealth(row, first)]));
  });
}

/** Reads the health of one endpoint of the client. @throws Refusal not_found */
export async function getEndpointHealth(db: Handle, clientId: string, endpointId: string): Promise<EndpointHealth> {
  const health = (await readEndpointHealth(db, clientId, { endpointId })).get(endpointId);
  if (!health) throw new Refusal('not_found', 'There is no such webhook endpoint.');
  return health;
}

const PENDING = { endpoint: 'e.id', status: `'pending'` };

const HEALTH = `
select e.id::text as "endpointId", counted.hours, pending.count as pending,
       to_json(next.at)#>>'{}' as "nextAttemptAt", to_json(success.at)#>>'{}' as "lastSuccessAt", missed.count as missed
  from (select id from webhook_endpoints
         where client_id = $1::uuid and deleted_at is null and ($2::uuid is null or id = $2::uuid)) e
 cross join lateral (select json_agg(h) as hours from endpoint_hours h where h.endpoint_id = e.id) counted
 cross join lateral (
   select count(*)::int as count from (
     ${newestDeliveries('', { ...PENDING, limit: COUNTED_PENDING + 1 })}) p) pending
 cross join lateral (
   select min(next_attempt_at) as at from (
     ${newestDeliveries('next_attempt_at', { ...PENDING, limit: LOOKED_AT_PENDING })}) p) next
  left join lateral (
   ${newestDeliveries('finished_at as at', { endpoint: 'e.id', status: `'succeeded'`, limit: 1 })}) success on true
  left join lateral (
   select ${lowestIdOf('started_at')} as first
     from (select started_at, ended_at from endpoint_disabled_periods
            where endpoint_id = e.id order by started_at desc, id desc limit 1) latest
    where ended_at is null) disabled on true
  left join lateral (
   select count(*)::int as count from (
     select from events where client_id >= $1::uuid and client_id <= $1::uuid and id >= disabled.first
      order by client_id, id desc limit ${COUNTED_MISSED + 1}) m
  ) missed on disabled.first is not null`;

function toHealth(row: Row, first: number): EndpointHealth {
  const counted = row.hours ?? [];
  const byHour = new Map(counted.map((hour) => [Date.parse(hour.hour), hour]));
  const hours = Array.from({ length: SHOWN_HOURS }, (_, i) => {
    const { succeeded, failed } = byHour.get(first + i * HOUR) ?? { succeeded: 0, failed: 0 };
    return { start: new Date(first + i * HOUR), succeeded, failed };
  });
  const shown = counted.filter((hour) => Date.parse(hour.hour) >= first);
  const times = sumOf(shown.map((hour) => hour.answer_times));
  const [p50, p95] = [quantileOf(times, 0.5), quantileOf(times, 0.95)];
  const lastSuccessAt = latest([row.lastSuccessAt, ...counted.map((hour) => hour.last_success_at)]);
  return {
    hours,
    succeeded: hours.reduce((sum, hour) => sum + hour.succeeded, 0),
    failed: hours.reduce((sum, hour) => sum + hour.failed, 0),
    answerTime: p50 === null || p95 === null ? null : { p50, p95 },
    lastSuccessAt,
    lastFailure: lastFailureOf(counted),
    failingSince: failingSince(counted, lastSuccessAt),
    pending: {
      count: Math.min(row.pending, COUNTED_PENDING),
      more: row.pending > COUNTED_PENDING,
      nextAttemptAt: latest([row.nextAttemptAt]),
    },
    missed:
      row.missed === null ? null : { count: Math.min(row.missed, COUNTED_MISSED), more: row.missed > COUNTED_MISSED },
  };
}

function latest(times: readonly (string | null)[]): Date | null {
  const known = times.filter((time) => time !== null).map((time) => Date.parse(time));
  return known.length === 0 ? null : new Date(Math.max(...known));
}

/** As `failingSinceOf`, over all hours. */
function failingSince(hours: readonly HourCount<string>[], lastSuccessAt: Date | null): Date | null {
  const after = (time: string | null) => time !== null && Date.parse(time) > (lastSuccessAt?.getTime() ?? 0);
  const runs = hours.flatMap((hour) => [hour.failing_since, hour.last_failure_at].find(after) ?? []);
  return runs.length === 0 ? null : new Date(Math.min(...runs.map((time) => Date.parse(time))));
}

function lastFailureOf(hours: readonly HourCount<string>[]): Failure | null {
  const at = latest(hours.map((hour) => hour.last_failure_at));
  const hour = hours.find(({ last_failure_at }) => at !== null && Date.parse(last_failure_at ?? '') === at.getTime());
  if (!at || !hour?.last_error) return null;
  return { at, error: hour.last_error, responseStatus: hour.last_response_status };
}

/** An endpoint of any client whose latest attempt failed. */
export interface FailingEndpoint {
  id: string;
  /** The first failure after the latest success. */
  failingSince: Date;
  lastSuccessAt: Date | null;
  lastFailure: Failure;
}

interface FailingRow {
  id: string;
  since: string;
  success: string | null;
  failure: Failure<string>;
}

/**
 * Lists the endpoints whose latest attempt failed, newest endpoint first, for the operator. The list includes those that
 * the service disabled. It reads the newest hour of each endpoint, and all its hours only if it is failing.
 * @param of.before only ids below this one
 */
export async function listFailingEndpoints(
  db: Handle,
  of: { clientId: string | undefined; before: string | undefined; take: number },
): Promise<FailingEndpoint[]> {
  const values = [of.clientId ?? null, of.before ?? null, of.take];
  const rows = await timeLimited(db, LIST_TIME_LIMIT, (tx) => tx.query<FailingRow>(FAILING, values));
  return rows.map(({ id, since, success, failure }) => ({
    id,
    failingSince: new Date(since),
    lastSuccessAt: success === null ? null : new Date(success),
    lastFailure: { ...failure, at: new Date(failure.at) },
  }));
}

const FAILING = `
select e.id::text, to_json(hours.since)#>>'{}' as since, to_json(success.at)#>>'{}' as success,
       json_build_object('at', newest.last_failure_at, 'error', newest.last_error,
                         'responseStatus', newest.last_response_status) as failure
  from webhook_endpoints e
 cross join lateral (
   select * from endpoint_hours h where h.endpoint_id = e.id order by h.hour desc limit 1) newest
  left join lateral (
   ${newestDeliveries('finished_at as at', { endpoint: 'e.id', status: `'succeeded'`, limit: 1 })}) delivered on true
 cross join lateral (
   select greatest(max(h.last_success_at), delivered.at) as at from endpoint_hours h where h.endpoint_id = e.id) success
 cross join lateral (
   select min(${failingSinceOf('h', 'success.at')}) as since from endpoint_hours h where h.endpoint_id = e.id) hours
 where e.deleted_at is null and ($1::uuid is null or e.client_id = $1::uuid) and ($2::uuid is null or e.id < $2::uuid)
   and (e.enabled or e.disabled_reason in ('failing', 'gone'))
   and newest.last_failure_at > coalesce(newest.last_success_at, '-infinity')
   and newest.last_failure_at > coalesce(success.at, '-infinity')
 order by e.id desc limit $3::int`;

/**
 * Whether an endpoint whose delivery has just been exhausted is failing: since it was enabled, it has had no success
 * for `disableAfter` ms and failures during all that time, over at least two exhausted deliveries (contract, Delivery
 * on the wire). The read is bounded, whatever the endpoint's past.
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
           (select max(h.last_success_at) from endpoint_hours h where h.endpoint_id = e.id)) as succeeded_at
    from webhook_endpoints e where e.id = $1::uuid
), failed as (
  select f.id, f.created_at from period e cross join lateral (
    (${ended('id, created_at, finished_at', 'failed')})
    union
    (${ended('id, created_at, finished_at', 'failed', `id < ${lowestIdOf('e.began')}`)})) f
   where e.succeeded_at <= e.began and f.finished_at > e.succeeded_at
)
select count(*) >= 2 and coalesce(min(created_at) <= (select began from period), false) as failing from failed`;
