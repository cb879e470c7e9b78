import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';
import { deliverEventOptions } from '../temporal/start-deliver-event.js';
import { hostOf } from '../webhooks/make-attempt.js';
import type { Steering } from '../webhooks/steering.js';
import type { LeasedEvent } from './events.js';
import { readStarts } from './read-starts.js';

interface Target extends LeasedEvent {
  deliveryId: string;
  webhookId: string;
  url: string;
  owner: string | null;
  status: string;
  attemptCount: number;
  inFlight: boolean;
  endpointActive: boolean;
}

/** What clients may ask of their deliveries, carried out by Temporal. `temporal` gives undefined while it is away. */
export function temporalSteering(temporal: () => Client | undefined, retryDelays: readonly number[]): Steering {
  const connected = () => {
    const client = temporal();
    if (!client) throw new Refusal('unavailable', 'Temporal cannot be reached, so nothing was retried; try again.');
    return client;
  };
  return {
    retry: async (db, clientId, deliveryId) => retryDelivery(db, connected(), retryDelays, clientId, deliveryId),
    recover: async () => {
      throw new Refusal('unavailable', 'Recovering is not there yet.');
    },
  };
}

/**
 * One attempt now (contract, `POST /deliveries/{id}/retry`). A sleeping delivery is woken by signalWithStart, which also
 * works where its workflow trails behind; for one that has ended, a workflow of its own makes one attempt.
 * @param clientId whose it must be; null: anybody's (the operator)
 * @throws Refusal not_found | endpoint_not_active | unavailable
 */
export async function retryDelivery(
  db: Handle,
  temporal: Client,
  retryDelays: readonly number[],
  clientId: string | null,
  deliveryId: string,
): Promise<void> {
  const [target] = await db.query<Target>(TARGET, [deliveryId, clientId]);
  if (!target) throw new Refusal('not_found', 'There is no such delivery.');
  if (!target.endpointActive) {
    throw new Refusal('endpoint_not_active', 'The endpoint of this delivery is disabled or deleted.');
  }
  if (target.inFlight) return;
  try {
    await (target.status === 'pending' ? wake(db, temporal, retryDelays, target) : attemptOnce(temporal, target));
  } catch (error) {
    throw new Refusal('unavailable', 'Temporal cannot be reached, so nothing was retried; try again.', [], {
      cause: error,
    });
  }
}

async function wake(db: Handle, temporal: Client, retryDelays: readonly number[], target: Target): Promise<void> {
  const signal = { deliveryId: target.deliveryId, number: target.attemptCount + 1 };
  if (target.owner !== null) {
    await temporal.workflow.getHandle(target.owner).signal('retryNow', signal);
    return;
  }
  const [start] = await readStarts(db, [target], retryDelays);
  if (!start) return;
  await temporal.workflow.signalWithStart('deliverEvent', {
    ...deliverEventOptions(start.input, target),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    signal: 'retryNow',
    signalArgs: [signal],
  });
}

async function attemptOnce(temporal: Client, target: Target): Promise<void> {
  const number = target.attemptCount + 1;
  const host = hostOf(target.url);
  try {
    await temporal.workflow.start('retryDelivery', {
      workflowId: `retry-${target.deliveryId}-${number}`,
      taskQueue: TASK_QUEUE,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [
        {
          deliveryId: target.deliveryId,
          clientId: target.clientId,
          webhookId: target.webhookId,
          host,
          number,
          owner: target.owner,
        },
      ],
      priority: { fairnessKey: target.clientId },
      staticSummary: `retry by hand → ${host}, attempt ${number}`,
      typedSearchAttributes: [
        { key: ClientId, value: target.clientId },
        { key: TransferId, value: target.transferId },
        { key: EventType, value: target.type },
        { key: WebhookIds, value: [target.webhookId] },
        { key: DeliveryState, value: 'retrying' },
      ],
    });
  } catch (error) {
    // Asked for twice at the same moment: one attempt.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

const TARGET = `
select d.id as "deliveryId", d.endpoint_id as "webhookId", e.url, d.owner, d.status::text, d.attempt_count as "attemptCount",
       coalesce(d.attempting_until > now(), false) as "inFlight",
       e.enabled and e.deleted_at is null as "endpointActive",
       v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  join events v on v.id = d.event_id
 where d.id = $1::uuid and ($2::uuid is null or d.client_id = $2::uuid)`;
