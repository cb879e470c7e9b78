import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import type { Handle } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { Refusal } from '../refusal.js';
import { deliverEventOptions } from '../temporal/start-deliver-event.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import { countRecoverable } from '../webhooks/recover.js';
import type { RecoverRange, Steering } from '../webhooks/steering.js';
import type { LeasedEvent } from './events.js';
import { isFree } from './lease.js';
import { readRecoveredStarts, readStarts } from './read-starts.js';

/** Less than the transaction of an `Idempotency-Key` may take, ms. */
const TEMPORAL_DEADLINE = 5_000;

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
  /** @throws Refusal unavailable, where Temporal does not answer */
  const withTemporal = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = temporal();
    if (!client) throw unavailable();
    try {
      return await client.connection.withDeadline(Date.now() + TEMPORAL_DEADLINE, () => work(client));
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw unavailable(error);
    }
  };
  return {
    async retry(db, clientId, deliveryId) {
      const [target] = await db.query<Target>(TARGET, [deliveryId, clientId]);
      if (!target) throw new Refusal('not_found', 'There is no such delivery.');
      if (!target.endpointActive) {
        throw new Refusal('endpoint_not_active', 'The endpoint of this delivery is disabled or deleted.');
      }
      if (target.inFlight) return;
      await withTemporal((client) =>
        target.status === 'pending' ? wake(db, client, retryDelays, target) : attemptOnce(client, target),
      );
    },
    async recover(db, clientId, endpointId, range) {
      const count = await countRecoverable(db, { clientId, endpointId, ...range });
      const url = await urlOf(db, clientId, endpointId);
      await withTemporal((client) => startRecover(client, { clientId, endpointId, url, count, range }));
      return count;
    },
  };
}

function unavailable(cause?: unknown): Refusal {
  return new Refusal('unavailable', 'Temporal cannot be reached, so nothing was done; try again.', [], { cause });
}

/** signalWithStart, so that it works where the workflow trails or is lost, and while no worker runs. */
async function wake(db: Handle, temporal: Client, retryDelays: readonly number[], target: Target): Promise<void> {
  const [start] =
    target.owner === null
      ? await readStarts(db, [target], retryDelays)
      : await readRecoveredStarts(db, [target.deliveryId], retryDelays);
  if (!start) return;
  await temporal.workflow.signalWithStart('deliverEvent', {
    ...deliverEventOptions(start),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    signal: 'retryNow',
    signalArgs: [{ deliveryId: target.deliveryId, number: target.attemptCount + 1 }],
  });
  failpoint('after-signal');
  // The plan has changed: it is now, also while no worker is there to see the signal.
  await db.query(PLAN_NOW, [target.deliveryId, target.attemptCount]);
}

/** A delivery that has ended gets one more attempt, in a workflow of its own that an operator sees. */
async function attemptOnce(temporal: Client, target: Target): Promise<void> {
  const { deliveryId, clientId, webhookId, owner } = target;
  const number = target.attemptCount + 1;
  const host = hostOf(target.url);
  try {
    await temporal.workflow.start('retryDelivery', {
      workflowId: `retry-${deliveryId}-${number}`,
      taskQueue: TASK_QUEUE,
      // One that ended without its attempt (the endpoint was disabled just then) may be asked for again; the claim keeps it at one.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ eventId: target.eventId, deliveryId, clientId, webhookId, host, number, owner }],
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
  } catch (error) {
    // Asked for twice at the same moment: one attempt.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

interface Recover {
  clientId: string;
  endpointId: string;
  url: string;
  count: number;
  range: RecoverRange;
}

/** One at a time for each endpoint: the workflow's id is the endpoint's. */
async function startRecover(temporal: Client, { clientId, endpointId, url, count, range }: Recover): Promise<void> {
  const host = hostOf(url);
  try {
    await temporal.workflow.start('recoverEndpoint', {
      workflowId: `recover-${endpointId}`,
      taskQueue: TASK_QUEUE,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ clientId, webhookId: endpointId, host, ...range, count }],
      priority: { fairnessKey: clientId },
      staticSummary: `recover ${count} deliveries → ${host}`,
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: WebhookIds, value: [endpointId] },
      ],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new Refusal('recover_in_progress', 'A recovery of this endpoint runs already; wait for its end.');
  }
}

async function urlOf(db: Handle, clientId: string, id: string): Promise<string> {
  const endpoint = await db.prisma.endpoint.findFirst({ where: { id, clientId, deletedAt: null } });
  if (!endpoint) throw new Refusal('not_found', 'There is no such endpoint.');
  if (!endpoint.enabled) throw new Refusal('endpoint_not_active', 'The endpoint is disabled.');
  return endpoint.url;
}

const PLAN_NOW = `
update deliveries set next_attempt_at = now()
 where id = $1::uuid and status = 'pending' and attempt_count = $2::int and next_attempt_at > now()`;

const TARGET = `
select d.id as "deliveryId", d.endpoint_id as "webhookId", e.url, d.owner, d.status::text, d.attempt_count as "attemptCount",
       not ${isFree('d.attempting_until')} as "inFlight",
       e.enabled and e.deleted_at is null as "endpointActive",
       v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  join events v on v.id = d.event_id
 where d.id = $1::uuid and d.client_id = $2::uuid`;
