import { ACTIVE } from '../endpoints/disable.js';
import { refuseInactive } from '../endpoints/refusals.js';
import { type By, recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import { withoutDeadline } from '../platform/deadline.js';
import { failpoint } from '../platform/failpoints.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Refusal } from '../platform/refusal.js';
import type { Handover, LeasedAttempt } from './handover.js';
import { AT_ONCE, isFree } from './lease.js';

const limit = new PostgresLimit('retries', LIMITS.retries);

export interface RetryRequest {
  by: By;
  /** The client that must own the delivery; null: any client (the operator). */
  clientId: string | null;
  deliveryId: string;
}

interface Target extends Pick<LeasedAttempt, 'eventId' | 'clientId' | 'endpointId' | 'maxConcurrency'> {
  enabled: boolean;
}

/**
 * Queues one attempt more, now, whether the delivery sleeps or has ended. It uses up no rung: a failure leaves the
 * planned attempts as they were. If an attempt is in flight or already asked for, nothing changes. It needs no
 * Temporal.
 * @throws Refusal not_found | endpoint_not_active | retry_limit_reached
 */
export function retryDelivery(
  db: Handle,
  handover: Pick<Handover, 'queued'>,
  { by, clientId, deliveryId }: RetryRequest,
): Promise<void> {
  return atomically(db, async (tx) => {
    const [target] = await tx.query<Target>(TARGET, [deliveryId, clientId]);
    if (!target) throw new Refusal('not_found', 'There is no such delivery.');
    refuseInactive(target);
    const [queued] = await tx.query<{ settled: boolean }>(QUEUED, [deliveryId]);
    if (queued?.settled) return;
    await limit.consume(tx, deliveryId);
    await tx.query(QUEUE_NOW, [deliveryId]);
    const { eventId, clientId: owner, endpointId, maxConcurrency } = target;
    const details = { client_id: owner, event_id: eventId, webhookId: endpointId };
    await recordAudit(tx, { ...by, action: 'deliveries.retry', target: deliveryId, details });
    tx.afterCommit(() => {
      failpoint('after-retry-queued');
      withoutDeadline(() => handover.queued({ deliveryId, clientId: owner, endpointId, maxConcurrency }));
      return undefined;
    });
  });
}

/** The lock on the delivery makes its retries, and its record, wait for each other. */
const TARGET = `
select d.event_id as "eventId", d.client_id as "clientId", d.endpoint_id as "endpointId",
       ${AT_ONCE} as "maxConcurrency", ${ACTIVE} as enabled
  from deliveries d join webhook_endpoints e on e.id = d.endpoint_id
 where d.id = $1::uuid and ($2::uuid is null or d.client_id = $2::uuid)
   for no key update of d`;

/** `settled`: a manual retry waits already, or a process has leased the attempt. */
const QUEUED = `
select trigger = 'manual' or not ${isFree('lease_until')} as settled from queue where delivery_id = $1::uuid for update`;

/** The row is free at once. An attempt of its former lease that is still in flight is not the retry. */
const QUEUE_NOW = `
with awake as (
  update deliveries set asleep = false where id = $1::uuid and asleep
)
insert into queue as q (delivery_id, client_id, endpoint_id, line, due_at, trigger)
select id, client_id, endpoint_id, 'fresh', now(), 'manual' from deliveries where id = $1::uuid
on conflict (delivery_id) do update
   set line = 'fresh', due_at = now(), trigger = 'manual', lease_token = null, lease_until = null`;
