import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type Handle, readClock, rowOf } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { NIL_ID } from '../platform/ids.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { DisabledReason } from '../platform/vocabulary.js';
import { keepDisabledPeriods } from './disabled-periods.js';
import { newestDeliveries } from './health.js';
import { notifyAbout } from './notifications.js';

/**
 * Disables an endpoint, cancels its pending deliveries (`cancelPending`), and records the message about it. Call it in
 * a transaction.
 * @param url disables it only if this is still its URL
 * @returns the number of cancelled deliveries, with those of the backlog (at most `COUNTED_TO_CANCEL` of them);
 * undefined if the endpoint was already disabled or deleted: then nothing changes, and the first reason stays
 */
export async function disableEndpoint(
  db: Handle,
  endpointId: string,
  reason: DisabledReason,
  url?: string,
): Promise<number | undefined> {
  const { count } = await db.prisma.endpoint.updateMany({
    where: { id: endpointId, enabled: true, deletedAt: null, ...(url !== undefined && { url }) },
    data: { enabled: false, disabledReason: reason, updatedAt: new Date(await readClock(db)) },
  });
  if (count === 0) return undefined;
  await keepDisabledPeriods(db, endpointId);
  const { cancelled: atOnce, more } = await cancelPending(db, endpointId);
  const cancelled = atOnce + (more ? await countPending(db, endpointId) : 0);
  await notifyAbout(db, 'endpoint.disabled', endpointId, { reason, cancelled });
  return cancelled;
}

/** Pending deliveries that are counted before an endpoint is disabled. */
export const COUNTED_TO_CANCEL = 10_000;

/** `12 pending deliveries`, which disabling the endpoint cancels, for a person who decides about it. */
export async function pendingText(db: Handle, endpointId: string): Promise<string> {
  const count = await countPending(db, endpointId);
  if (count === 1) return '1 pending delivery';
  const more = count === COUNTED_TO_CANCEL ? ' or more' : '';
  return `${count === 0 ? 'No' : count.toLocaleString('en')}${more} pending deliveries`;
}

async function countPending(db: Handle, endpointId: string): Promise<number> {
  const pending = { endpoint: '$1::uuid', status: `'pending'`, limit: COUNTED_TO_CANCEL };
  const statement = `select count(*)::int as count from (${newestDeliveries('', pending)}) p`;
  return (await rowOf<{ count: number }>(db, statement, [endpointId])).count;
}

/** Deliveries that one transaction cancels at most. */
export const CANCELLED_AT_ONCE = 1_000;

/**
 * Cancels the next pending deliveries of an inactive endpoint, up to `CANCELLED_AT_ONCE`. If there are more, the
 * endpoint's row says where to continue (`cancelling_after`), and `cancelBacklogs` does.
 * @param tx a transaction that has changed or locked the endpoint's row
 */
export async function cancelPending(tx: Handle, endpointId: string): Promise<{ cancelled: number; more: boolean }> {
  await tx.query(`select set_config('enable_sort', 'off', true)`, []);
  const [row] = await tx.query<{ cancelled: number; more: boolean }>(CANCEL_PENDING, [endpointId]);
  return row ?? { cancelled: 0, more: false };
}

/** SQL: why the deliveries of the inactive endpoint `e` are cancelled. */
const CANCELLED_BECAUSE = `case when e.deleted_at is not null then 'endpoint_deleted'
                     when e.disabled_reason = 'gone' then 'endpoint_gone' else 'endpoint_disabled' end`;
/** SQL: whether the endpoint `e` gets deliveries. */
export const ACTIVE = 'e.enabled and e.deleted_at is null';

/**
 * The endpoint's row is locked already. The deliveries are locked in the order of their ids, as the recorder locks
 * them. So a cancellation never deadlocks.
 *
 * A batch starts after the last id of the batch before. From the start of the index, each batch would walk over the
 * entries of all deliveries that are cancelled already.
 *
 * The last batch also takes back the manual retries that wait for deliveries that have ended or that retention has
 * removed, at most as many. What the batches leave in the queue, and what comes while the endpoint is being disabled,
 * `cancelLeft` finds.
 *
 * A workflow that waits for an attempt of the late line learns of the end. One that sleeps finds the cancelled delivery
 * at the end of its timer.
 *
 * Two bounds and not `status =`: only the index on endpoint, status and id has this order, and `enable_sort = off`
 * makes Postgres use it. Otherwise, while its statistics say that few are pending, it may read and sort them all for
 * each batch, or read the deliveries of all endpoints by primary key.
 */
const CANCEL_PENDING = `
with endpoint as materialized (
  select e.id, coalesce(e.cancelling_after, '${NIL_ID}') as after, ${CANCELLED_BECAUSE} as reason
    from webhook_endpoints e where e.id = $1::uuid and not (${ACTIVE})
), pending as materialized (
  select d.id from deliveries d
   where d.endpoint_id = $1::uuid and d.status >= 'pending' and d.status <= 'pending'
     and d.id > (select after from endpoint)
   order by d.status desc, d.id limit ${CANCELLED_AT_ONCE + 1} for no key update
), batch as materialized (
  select id from pending order by id limit ${CANCELLED_AT_ONCE}
), cancelled as (
  update deliveries
     set status = 'cancelled', reason = (select reason from endpoint), next_attempt_at = null, asleep = false, finished_at = now()
   where id = any(array(select id from batch))
  returning id, event_id, client_id
), waiting as materialized (
  select delivery_id as id from queue
   where endpoint_id = (select id from endpoint) and lease_until is null
     and (select count(*) from pending) <= ${CANCELLED_AT_ONCE}
   order by line, due_at, delivery_id limit ${CANCELLED_AT_ONCE}
), retries as materialized (
  select id from deliveries where id = any(array(select id from waiting)) and status <> 'pending' for no key update skip locked
), orphans as (
  select id from waiting w where not exists (select from deliveries d where d.id = w.id)
), left_queue as (
  delete from queue
   where delivery_id = any(array(select id from batch union all select id from retries union all select id from orphans))
  returning delivery_id, line
), told as (
  insert into outbox as o (event_id, client_id, state)
  select c.event_id, c.client_id, min(case when q.line = 'late' then 'again' else 'delivered' end::outbox_state)
    from cancelled c join left_queue q on q.delivery_id = c.id
   group by c.event_id, c.client_id order by c.event_id
  on conflict (event_id) do update set state = excluded.state, lease_until = null where excluded.state <= o.state
)
update webhook_endpoints
   set cancelling_after = case when (select count(*) from pending) > ${CANCELLED_AT_ONCE}
                               then (select id from batch order by id desc limit 1) end
 where id = $1::uuid
returning cancelling_after is not null as more, (select count(*)::int from cancelled) as cancelled`;

/** Has `cancelBacklogs` cancel what waits in the queue for these endpoints, which a scan found inactive. */
export async function cancelLeft(db: Handle, endpointIds: readonly string[]): Promise<void> {
  await db.query(CANCEL_LEFT, [endpointIds]);
}

const CANCEL_LEFT = `
update webhook_endpoints set cancelling_after = '${NIL_ID}'
 where id = any(array(select e.id from webhook_endpoints e
   where e.id = any($1::uuid[]) and not (${ACTIVE}) and e.cancelling_after is null for no key update skip locked))`;

const INTERVAL = 1_000;
/** A batch and the rest after it take at least this long, ms: at most 10,000 deliveries a second. */
const LEAST = 100;

interface CancelOptions {
  db: Database;
  workers: { isFirst: boolean };
  log: Log;
}

/**
 * Cancels the pending deliveries that the disabling or deletion of an endpoint left over, in batches, one endpoint
 * after the other. The first of the live workers does it, and another one continues after a crash, because an
 * endpoint's row says where. It rests at least as long as a batch took, so that a large backlog leaves Postgres to
 * others.
 */
export function cancelBacklogs({ db, workers, log }: CancelOptions): Periodic {
  /** The endpoint of the last batch. */
  let last: string | null = null;
  /** @returns false: nothing is left */
  const cancelNext = async (): Promise<boolean> => {
    const since = performance.now();
    const batch = await db.transaction(async (tx) => {
      const [endpoint] = await tx.query<{ id: string }>(NEXT, [last]);
      return endpoint && { ...endpoint, ...(await cancelPending(tx, endpoint.id)) };
    });
    if (!batch) return false;
    failpoint('after-cancelled');
    last = batch.id;
    if (!batch.more) log.info({ webhook_id: batch.id }, 'all pending deliveries of an inactive endpoint are cancelled');
    const took = performance.now() - since;
    await sleep(Math.max(took, LEAST - took));
    return true;
  };
  const loop = new Periodic({
    interval: INTERVAL,
    isDue: async () => workers.isFirst,
    run: async () => {
      while (!loop.stopped && (await cancelNext()));
    },
    onFault: reportTo(log, 'cancelling deliveries of inactive endpoints failed; next try in a second'),
  });
  return loop;
}

/** The endpoint after the one of the last batch, in turn. One that is being changed comes later. */
const NEXT = `
select id from webhook_endpoints where cancelling_after is not null
 order by $1::uuid is null or id > $1::uuid desc, id limit 1 for no key update skip locked`;
