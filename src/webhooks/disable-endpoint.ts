import type { Handle } from '../database/database.js';
import type { DisabledReason } from '../disabled-reasons.js';
import { cancelPending } from './cancel-pending.js';
import { newestDeliveries } from './list-deliveries.js';

/**
 * Disables an endpoint and cancels its pending deliveries (`cancelPending`). Call it in a transaction.
 * @returns false if the endpoint was already disabled or deleted; then nothing changes, and the first reason stays
 */
export async function disableEndpoint(db: Handle, endpointId: string, reason: DisabledReason): Promise<boolean> {
  const { count } = await db.prisma.endpoint.updateMany({
    where: { id: endpointId, enabled: true, deletedAt: null },
    data: { enabled: false, disabledReason: reason },
  });
  if (count === 0) return false;
  await cancelPending(db, endpointId);
  return true;
}

/**
 * Whether an endpoint whose delivery has just been exhausted is failing: since it was enabled, it has had no success
 * for `disableAfter` ms and failures during all that time, over at least two exhausted deliveries (contract, Delivery
 * on the wire).
 * @param disableAfter ms; 0: never
 */
export async function isFailing(db: Handle, endpointId: string, disableAfter: number): Promise<boolean> {
  if (disableAfter === 0) return false;
  const [row] = await db.query<{ failing: boolean }>(IS_FAILING, [endpointId, disableAfter]);
  return row?.failing ?? false;
}

/** Number of the newest successes that are read first. The latest success is nearly always among them. */
const NEWEST_SUCCESSES = 100;

/**
 * The newest successes exclude an endpoint that still succeeds, so that all its deliveries are read only if it may be
 * failing.
 */
const IS_FAILING = `
with suspect as materialized (
  select e.id, e.enabled_at from webhook_endpoints e
   where e.id = $1::uuid and e.enabled_at <= now() - $2::bigint * interval '1 millisecond'
     and not exists (
       select from (${newestDeliveries('finished_at', { endpoint: 'e.id', status: `'succeeded'`, limit: NEWEST_SUCCESSES })}) newest
        where newest.finished_at > now() - $2::bigint * interval '1 millisecond')
), since as (
  select greatest(e.enabled_at, (
           select max(d.finished_at) from deliveries d where d.endpoint_id = e.id and d.status = 'succeeded')) as at
    from suspect e
), exhausted as (
  select count(*) as deliveries, min(d.created_at) as first
    from deliveries d, since
   where d.endpoint_id = $1::uuid and d.status = 'failed' and d.finished_at > since.at
)
select deliveries >= 2 and greatest(first, since.at) <= now() - $2::bigint * interval '1 millisecond' as failing
  from exhausted, since`;
