import { SpanKind } from '@opentelemetry/api';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import {
  type DeliverEventInput,
  type DeliveryProgress,
  stateOf,
  TASK_QUEUE,
} from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import { hostOf } from '../endpoints/url.js';
import type { Handle } from '../platform/database/database.js';
import { inSpan } from '../platform/telemetry/traces.js';
import { startUnlessRunning } from '../temporal/connection.js';
import { eventTitle } from './event-catalogue.js';

/** An event whose workflow is due, and what the workflow starts with. */
export interface WorkflowStart {
  event: EventRow;
  input: DeliverEventInput;
  /** A delivery is in the queue, and has had no attempt. */
  isQueued: boolean;
}

export interface EventRow {
  eventId: string;
  clientId: string;
  transferId: string;
  type: string;
  body: string;
  /** Of the request that made the event, in W3C's form; null: not traced. */
  traceparent: string | null;
}

interface DeliveryRow extends Omit<DeliveryProgress, 'host'> {
  eventId: string;
  url: string;
  isQueued: boolean;
}

/** Reads the deliveries of an event as its workflow shows them. */
export async function readProgress(db: Handle, eventId: string): Promise<DeliveryProgress[]> {
  return (await readRows(db, [eventId])).map(toProgress);
}

/** Reads what the workflows of these events start with: the present state of each delivery. */
export async function readStarts(db: Handle, events: readonly EventRow[]): Promise<WorkflowStart[]> {
  const ids = events.map(({ eventId }) => eventId);
  const rows = await readRows(db, ids);
  return events.map((event) => {
    const own = rows.filter(({ eventId }) => eventId === event.eventId);
    const { eventId, clientId, type, body } = event;
    const input = { eventId, clientId, title: eventTitle(type, body), deliveries: own.map(toProgress) };
    return { event, input, isQueued: own.some(({ isQueued }) => isQueued) };
  });
}

/** Copies field by field, so that a workflow's history holds nothing that is not named here. */
function toProgress(row: DeliveryRow): DeliveryProgress {
  return {
    deliveryId: row.deliveryId,
    webhookId: row.webhookId,
    host: hostOf(row.url),
    status: row.status,
    reason: row.reason,
    attemptCount: row.attemptCount,
    lastOutcome: row.lastOutcome,
    nextAttemptAt: row.nextAttemptAt,
    wait: row.wait,
  };
}

/** SQL: the columns of a `DeliveryProgress`, for a statement that joins `PROGRESS_FROM`. */
const PROGRESS = `
d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "webhookId", e.url, d.status::text, d.reason,
d.attempt_count as "attemptCount", coalesce(a.response_status::text, a.error) as "lastOutcome",
to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "nextAttemptAt",
case when d.next_attempt_at is not null then
  least(greatest(0, ceil(extract(epoch from d.next_attempt_at - now()) * 1000)), 2147483647)::int end as wait,
d.status = 'pending' and not d.asleep and d.attempt_count = 0 as "isQueued"
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count`;

function readRows(db: Handle, eventIds: readonly string[]): Promise<DeliveryRow[]> {
  return db.query<DeliveryRow>(`select ${PROGRESS} where d.event_id = any($1::uuid[]) order by d.id`, [eventIds]);
}

/** Reads one delivery. @returns undefined if it is gone: lost in a restore of Postgres, or removed by retention */
export async function readDelivery(db: Handle, deliveryId: string): Promise<DeliveryProgress | undefined> {
  const [row] = await db.query<DeliveryRow>(`select ${PROGRESS} where d.id = $1::uuid`, [deliveryId]);
  return row && toProgress(row);
}

/**
 * Starts the workflow of an event, whose first task runs at once on the worker of this process. `delivered`: once. `start`: unless it runs. `again`: wakes it if it runs, so that it
 * reads its deliveries again.
 */
export function startDeliverEvent(
  client: Client,
  start: WorkflowStart,
  how: 'delivered' | 'start' | 'again',
): Promise<void> {
  const attributes = { temporalWorkflowID: start.event.eventId };
  const { traceparent } = start.event;
  return inSpan('StartWorkflow:deliverEvent', { kind: SpanKind.CLIENT, attributes, traceparent }, async () => {
    const workflowIdReusePolicy = how === 'delivered' ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE';
    const workflow = { ...workflowOf(start), workflowIdReusePolicy } as const;
    const requestEagerStart = client.connection instanceof NativeConnection;
    await startUnlessRunning(client, () =>
      how === 'again'
        ? client.workflow.signalWithStart('deliverEvent', { ...workflow, signal: 'wake' })
        : client.workflow.start('deliverEvent', { ...workflow, requestEagerStart }),
    );
  });
}

/** Id, summary and search attributes of the workflow, by which operators find it. */
export function workflowOf({ event, input }: WorkflowStart) {
  const { length } = input.deliveries;
  return {
    workflowId: event.eventId,
    taskQueue: TASK_QUEUE,
    args: [input],
    priority: { fairnessKey: input.clientId },
    staticSummary: `${input.title} → ${length === 1 ? '1 endpoint' : `${length} endpoints`}`,
    typedSearchAttributes: [
      { key: ClientId, value: input.clientId },
      { key: TransferId, value: event.transferId },
      { key: EventType, value: event.type },
      { key: WebhookIds, value: input.deliveries.map(({ webhookId }) => webhookId) },
      { key: DeliveryState, value: stateOf(input.deliveries) },
    ],
  };
}
