import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import { recordAudit, recordingFailure } from '../audit/record.js';
import type { Handle } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { newId } from '../ids.js';
import { isFree } from '../lease.js';
import { EVENT_COLUMNS, type EventRow } from '../outbox/event-row.js';
import { Refusal } from '../refusal.js';
import type { AskTemporal } from '../temporal/ask-temporal.js';
import { claimedUntil } from '../webhooks/claim.js';
import type { DeliveryActions, PlannedRetry } from '../webhooks/delivery-actions.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import { countRetry, uncountRetry } from '../webhooks/retry-limit.js';
import { readRecoveredStarts, readStarts } from './read-starts.js';
import { deliverEventOptions } from './start-deliver-event.js';

interface Target extends EventRow {
  deliveryId: string;
  webhookId: string;
  url: string;
  owner: string | null;
  status: string;
  attemptCount: number;
  inFlight: boolean;
  endpointActive: boolean;
  /** Whether the attempt that an earlier request planned was made, with the trigger `manual`. */
  plannedAttemptMade: boolean;
}

/**
 * The retry by hand. The delivery and the number of the attempt identify it: the claim lets attempt N be made once,
 * however many requests ask for it.
 */
export function retryAction(ask: AskTemporal, retryDelays: readonly number[]): DeliveryActions['retry'] {
  return {
    async plan(tx, { by, clientId, deliveryId }, earlier) {
      const target = await readTarget(tx, { clientId, deliveryId, number: earlier?.number ?? null });
      if (!target) throw new Refusal('not_found', 'There is no such delivery.');
      if (earlier && target.plannedAttemptMade) return earlier;
      if (!target.endpointActive) {
        throw new Refusal(
          'endpoint_not_active',
          'The endpoint of this delivery is disabled or deleted; enable it first.',
        );
      }
      const plan = { by, clientId, deliveryId, retryId: earlier?.retryId ?? newId() };
      if (target.inFlight) return { ...plan, number: null };
      await countRetry(tx, deliveryId, plan.retryId);
      // The entry of an earlier try is committed, unless that try found an attempt in flight.
      if (typeof earlier?.number !== 'number') await recordAudit(tx, entryOf(plan, target));
      return { ...plan, number: target.attemptCount + 1 };
    },
    async carryOut(db, plan) {
      if (plan.number === null) return;
      const target = await readTarget(db, plan);
      // The attempt has been made, or is in flight.
      if (!target || target.inFlight || target.attemptCount >= plan.number) return;
      try {
        const accepted = target.status === 'pending' ? wake(db, ask, retryDelays, target) : attemptOnce(ask, target);
        await recordingFailure(db, entryOf(plan, target), accepted);
      } catch (error) {
        // A retry that Temporal did not take does not count. If this fails, the client has one retry less for an hour.
        await uncountRetry(db, plan.deliveryId, plan.retryId).catch(() => undefined);
        throw error;
      }
    },
  };
}

function entryOf({ by, clientId, deliveryId, retryId }: Omit<PlannedRetry, 'number'>, target: Target) {
  const details = { client_id: clientId, event_id: target.eventId, webhookId: target.webhookId, retry: retryId };
  return { ...by, action: 'deliveries.retry', target: deliveryId, details } as const;
}

async function readTarget(
  db: Handle,
  { clientId, deliveryId, number }: { clientId: string; deliveryId: string; number: number | null },
): Promise<Target | undefined> {
  const [target] = await db.query<Target>(TARGET, [deliveryId, clientId, number]);
  return target;
}

/**
 * Signals the workflow with signalWithStart, which works before the workflow has started, after it was lost, and
 * without a worker.
 */
async function wake(db: Handle, ask: AskTemporal, retryDelays: readonly number[], target: Target): Promise<void> {
  const [start] =
    target.owner === null
      ? await readStarts(db, [target], retryDelays)
      : await readRecoveredStarts(db, [target.deliveryId], retryDelays);
  if (!start) return;
  await ask(target.clientId, (temporal) =>
    temporal.workflow.signalWithStart('deliverEvent', {
      ...deliverEventOptions(start),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      signal: 'retryNow',
      signalArgs: [{ deliveryId: target.deliveryId, number: target.attemptCount + 1 }],
    }),
  );
  failpoint('after-signal');
  // The attempt is due now, also while no worker runs to receive the signal.
  await db.query(PLAN_NOW, [target.deliveryId, target.attemptCount]);
}

/** Makes one more attempt at a delivery that has ended, in a workflow of its own that an operator sees. */
async function attemptOnce(ask: AskTemporal, target: Target): Promise<void> {
  await ask(target.clientId, async (temporal) => {
    try {
      await startRetry(temporal, target);
    } catch (error) {
      // Two requests at the same moment ask for one attempt.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  });
  failpoint('after-asked');
}

async function startRetry(temporal: Client, target: Target): Promise<void> {
  const { eventId, deliveryId, clientId, webhookId, owner } = target;
  const number = target.attemptCount + 1;
  const host = hostOf(target.url);
  await temporal.workflow.start('retryDelivery', {
    workflowId: `retry-${deliveryId}-${number}`,
    taskQueue: TASK_QUEUE,
    // A workflow that ended without its attempt (the endpoint was disabled just then) may be started again. The claim
    // keeps it at one attempt.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    args: [{ eventId, deliveryId, clientId, webhookId, host, number, owner }],
    priority: { fairnessKey: clientId },
    staticSummary: `retry by hand → ${host}, attempt ${number}`,
    typedSearchAttributes: [
      { key: ClientId, value: clientId },
      { key: TransferId, value: target.transferId },
      { key: EventType, value: target.type },
      { key: WebhookIds, value: [webhookId] },
      { key: DeliveryState, value: 'retrying' },
    ],
  });
}

const PLAN_NOW = `
update deliveries set next_attempt_at = now()
 where id = $1::uuid and status = 'pending' and attempt_count = $2::int and next_attempt_at > now()`;

/** A lane that leases the event makes no attempt of a delivery that has ended. */
const TARGET = `
select d.id as "deliveryId", d.endpoint_id as "webhookId", e.url, d.owner, d.status::text, d.attempt_count as "attemptCount",
       not ${isFree('d.attempting_until')} or d.status = 'pending' and ${claimedUntil('d', 'v')} is not null as "inFlight",
       e.enabled and e.deleted_at is null as "endpointActive",
       exists (select from attempts a where a.delivery_id = d.id and a.number = $3::int and a.trigger = 'manual') as "plannedAttemptMade",
       ${EVENT_COLUMNS}
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  join events v on v.id = d.event_id
 where d.id = $1::uuid and d.client_id = $2::uuid`;
