import type { DeliverEventInput } from '../../workflows/deliver-event.input.js';
import type { Handle } from '../database/database.js';
import type { LeasedEvent } from '../outbox/events.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import { eventTitle } from '../webhooks/event-catalogue.js';

/** What a workflow of an event's deliveries is started with. */
export interface WorkflowStart {
  workflowId: string;
  event: LeasedEvent;
  input: DeliverEventInput;
}

type Delivery = DeliverEventInput['deliveries'][number];
type DeliveryRow = Omit<Delivery, 'host'> & { eventId: string; url: string };

/** What the workflows of events are told: how each of its deliveries stands now, but for recovered ones. */
export async function readStarts(
  db: Handle,
  events: readonly LeasedEvent[],
  ladder: readonly number[],
): Promise<WorkflowStart[]> {
  const rows = await db.query<DeliveryRow>(OF_EVENTS, [events.map((event) => event.eventId)]);
  return events.map((event) => {
    const deliveries = rows.filter((row) => row.eventId === event.eventId).map(toDelivery);
    return { workflowId: event.eventId, event, input: toInput(event, deliveries, ladder) };
  });
}

/** The same for deliveries that were recovered: each has a workflow of its own, named by its `owner`. */
export async function readRecoveredStarts(
  db: Handle,
  deliveryIds: readonly string[],
  ladder: readonly number[],
): Promise<WorkflowStart[]> {
  const rows = await db.query<DeliveryRow & LeasedEvent>(RECOVERED, [deliveryIds]);
  return rows.flatMap((row) => {
    const { eventId, clientId, transferId, type, body, traceparent } = row;
    const event = { eventId, clientId, transferId, type, body, traceparent };
    return row.owner === null
      ? []
      : [{ workflowId: row.owner, event, input: toInput(event, [toDelivery(row)], ladder) }];
  });
}

function toInput(event: LeasedEvent, deliveries: Delivery[], ladder: readonly number[]): DeliverEventInput {
  const { eventId, clientId, type, body } = event;
  return { eventId, clientId, title: eventTitle(type, body), deliveries, ladder };
}

/** Field by field: a workflow's history has nothing that is not named here. */
function toDelivery(row: DeliveryRow): Delivery {
  return {
    deliveryId: row.deliveryId,
    webhookId: row.webhookId,
    host: hostOf(row.url),
    status: row.status,
    reason: row.reason,
    attemptCount: row.attemptCount,
    lastOutcome: row.lastOutcome,
    nextAttemptAt: row.nextAttemptAt,
    ladderStart: row.ladderStart,
    owner: row.owner,
  };
}

const DELIVERY = `
       d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "webhookId", e.url,
       d.status::text, d.reason, d.attempt_count as "attemptCount", d.ladder_start as "ladderStart", d.owner,
       coalesce(a.response_status::text, a.error) as "lastOutcome",
       to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "nextAttemptAt"`;

const FROM = `
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count`;

const OF_EVENTS = `
select ${DELIVERY} ${FROM}
 where d.event_id = any($1::uuid[]) and d.owner is null
 order by d.id`;

const RECOVERED = `
select ${DELIVERY}, v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent ${FROM}
  join events v on v.id = d.event_id
 where d.id = any($1::uuid[]) and d.owner is not null and d.status = 'pending'
 order by d.id`;
