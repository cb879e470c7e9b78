import type { Handle } from '../platform/database/database.js';
import type { AttemptError } from '../platform/vocabulary.js';
import { COUNTED_PENDING, LATEST, newestDeliveries, pendingLadders } from './health.js';
import { newestHours } from './hours.js';
import { notifyAbout } from './notifications.js';

/** Failed attempts after which an endpoint without a success is failing, even if no delivery is exhausted. */
const FAILURES = 10;
/** s: without a success, of a failing endpoint; until the last attempt of a ladder that ends soon. */
const [WITHOUT_SUCCESS, ENDS_WITHIN] = [3_600, 6 * 3_600];
/** Failed deliveries, and pending ones, of an endpoint that are looked at: the newest, and the oldest. */
const [LOOKED_AT_FAILED, LOOKED_AT_PENDING] = [100, 20];

/**
 * Looks at the next `limit` endpoints after the id `after`, and records what their clients and the operator are to be
 * told (`notifyAbout`): an endpoint that fails, has recovered, or has ladders that end soon. Call it in a transaction
 * that excludes other calls. What it reads of an endpoint is bounded. Attempts themselves tell nobody: they are too
 * many.
 * @returns the last endpoint that it looked at; null: none follows
 */
export async function watchEndpoints(tx: Handle, after: string, limit: number): Promise<string | null> {
  const [seen] = await tx.query<{ count: number; last: string | null }>(SEEN, [after, limit]);
  for (const { id, ...found } of await tx.query<Failing>(FAILING, [after, limit])) {
    const { pending, failingSince, lastSuccessAt, lastError, lastResponseStatus } = found;
    await notifyAbout(tx, 'endpoint.failing', id, {
      failing_since: iso(failingSince),
      last_success_at: iso(lastSuccessAt),
      last_error: lastError,
      last_response_status: lastResponseStatus,
      pending,
    });
  }
  for (const { id, lastSuccessAt } of await tx.query<Recovered>(RECOVERED, [after, limit])) {
    await notifyAbout(tx, 'endpoint.recovered', id, { last_success_at: iso(lastSuccessAt) });
  }
  for (const { id, count, firstEndsAt } of await tx.query<Ending>(ENDING, [after, limit])) {
    await notifyAbout(tx, 'deliveries.ending', id, { count, first_ends_at: iso(firstEndsAt) });
  }
  return seen?.count === limit ? seen.last : null;
}

const iso = (time: Date | null) => time?.toISOString() ?? null;

type Recovered = { id: string; lastSuccessAt: Date };
type Ending = { id: string; count: number; firstEndsAt: Date };
interface Failing {
  id: string;
  failingSince: Date | null;
  lastSuccessAt: Date | null;
  lastError: AttemptError | null;
  lastResponseStatus: number | null;
  pending: number;
}

/** SQL: the endpoints of this call. */
const LOOKED_AT = `looked_at as materialized (
  select id, enabled, enabled_at from webhook_endpoints
   where id > $1::uuid and deleted_at is null order by id limit $2::int
)`;
const SEEN = `with ${LOOKED_AT} select count(*)::int as count, max(id::text) as last from looked_at`;

const ofEndpoint = (status: string) => ({ endpoint: 'e.id', status: `'${status}'` });

/**
 * Most endpoints are judged by two rows: their newest hour, and their newest failed delivery, which is there even if
 * the process that counts attempts was killed. Of an endpoint that was enabled again, only what came after that counts.
 */
const FAILING = `
with ${LOOKED_AT}, suspect as materialized (
  select e.*, exhausted.id as failed_id from looked_at e
    left join lateral (
     ${newestHours('e.id', 1)}) newest on true
    left join lateral (
     ${newestDeliveries('id, finished_at as at', { ...ofEndpoint('failed'), limit: 1 })}) exhausted on true
   where e.enabled
     and greatest(newest.last_failure_at, exhausted.at) > greatest(coalesce(newest.last_success_at, '-infinity'), e.enabled_at)
     and not exists (select from notifications n
                      where n.endpoint_id = e.id and n.open and n.created_at >= e.enabled_at)
)
select e.id::text, least(failing.since, exhausted.at) as "failingSince", success.at as "lastSuccessAt",
       case when failure.at is null then ended.error else failure.error end as "lastError",
       case when failure.at is null then ended.status else failure.status end as "lastResponseStatus",
       pending.count as pending
  from suspect e${LATEST}
 cross join lateral (
   select coalesce(sum(h.failed), 0) as count from endpoint_hours h
    where h.endpoint_id = e.id and h.hour > coalesce(success.at, '-infinity')
      and h.hour + interval '1 hour' > e.enabled_at) failures
 cross join lateral (
   select min(f.at) as at from (
     ${newestDeliveries('finished_at as at, reason', { ...ofEndpoint('failed'), limit: LOOKED_AT_FAILED })}) f
    where f.reason = 'exhausted' and f.at > greatest(coalesce(success.at, '-infinity'), e.enabled_at)) exhausted
  left join lateral (
   select a.error, a.response_status as status from attempts a where a.delivery_id = e.failed_id
    order by a.number desc limit 1) ended on true
 cross join lateral (
   select count(*)::int as count from (
     ${newestDeliveries('', { ...ofEndpoint('pending'), limit: COUNTED_PENDING })}) p) pending
 where coalesce(success.at, '-infinity') <= now() - interval '${WITHOUT_SUCCESS} seconds'
   and (exhausted.at is not null or failures.count >= ${FAILURES} and failure.at > e.enabled_at)`;

/** Endpoints that succeed again, after a message that they fail or are disabled. */
const RECOVERED = `
with ${LOOKED_AT}, told as materialized (
  select e.id, max(n.created_at) as told_at
    from looked_at e join notifications n on n.endpoint_id = e.id and n.open
   where e.enabled group by e.id
)
select e.id::text, success.at as "lastSuccessAt" from told e${LATEST} where success.at > e.told_at`;

/** SQL: those of the oldest pending deliveries that have failed before and whose ladder ends soon. */
const endingOf = (limit: number) => `
  select ends_at from (${pendingLadders(limit)}) l
   where rung > 0 and ends_at <= now() + interval '${ENDS_WITHIN} seconds'`;

const ENDING = `
with ${LOOKED_AT}
select e.id::text, ending.count, ending.first_ends_at as "firstEndsAt"
  from looked_at e cross join lateral (
    select count(*)::int as count, min(ends_at) as first_ends_at from (${endingOf(COUNTED_PENDING)}) x) ending
 where e.enabled and exists (${endingOf(LOOKED_AT_PENDING)}) and ending.count > 0
   and not exists (select from notifications n where n.endpoint_id = e.id and n.type = 'deliveries.ending'
                      and n.created_at > now() - interval '1 day')`;
