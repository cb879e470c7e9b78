import type { DeliverEventInput } from '../../workflows/deliver-event.input.js';
import type { Handle } from '../database/database.js';
import { ladderFromText } from '../ladder.js';
import { EVENT_COLUMNS, type EventRow } from '../outbox/event-row.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import { eventTitle } from '../webhooks/event-catalogue.js';

/** The id and the input of a `deliverEvent` workflow, and the event it is for. */
export interface WorkflowStart {
  workflowId: string;
  event: EventRow;
  input: DeliverEventInput;
}

type Delivery = DeliverEventInput['deliveries'][number];
type DeliveryRow = Omit<Delivery, 'host'> & { eventId: string; url: string; ladder: string | null };

/**
 * Reads the starts of the events' workflows. The input has the current state of each delivery that is not recovered,
 * and the ladder that the deliveries started with.
 * @param retryDelays the present ladder, ms, for deliveries whose rows do not name theirs
 */
export async function readStarts(
  db: Handle,
  events: readonly EventRow[],
  retryDelays: readonly number[],
): Promise<WorkflowStart[]> {
  const rows = await db.query<DeliveryRow>(OF_EVENTS, [events.map((event) => event.eventId)]);
  return events.map((event) => {
    const own = rows.filter((row) => row.eventId === event.eventId);
    return { workflowId: event.eventId, event, input: toInput(event, own, retryDelays) };
  });
}

/** Reads the starts of recovered deliveries. Each has a workflow of its own, whose id is the delivery's `owner`. */
export async function readRecoveredStarts(
  db: Handle,
  deliveryIds: readonly string[],
  retryDelays: readonly number[],
): Promise<WorkflowStart[]> {
  const rows = await db.query<DeliveryRow & EventRow>(RECOVERED, [deliveryIds]);
  return rows.flatMap((row) => {
    const { eventId, clientId, transferId, type, body, traceparent } = row;
    const event = { eventId, clientId, transferId, type, body, traceparent };
    return row.owner === null ? [] : [{ workflowId: row.owner, event, input: toInput(event, [row], retryDelays) }];
  });
}

/** @param rows deliveries that one statement inserted or reset, so that they have one ladder */
function toInput(event: EventRow, rows: readonly DeliveryRow[], retryDelays: readonly number[]): DeliverEventInput {
  const { eventId, clientId, type, body } = event;
  const ladder = ladderFromText(rows[0]?.ladder ?? null) ?? retryDelays;
  return { eventId, clientId, title: eventTitle(type, body), deliveries: rows.map(toDelivery), ladder };
}

/** Copies field by field, so that a workflow's history holds nothing that is not named here. */
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
       d.id as "deliveryId", d.endpoint_id as "webhookId", e.url,
       d.status::text, d.reason, d.attempt_count as "attemptCount", d.ladder_start as "ladderStart", d.ladder, d.owner,
       coalesce(a.response_status::text, a.error) as "lastOutcome",
       to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "nextAttemptAt"`;

const FROM = `
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count`;

const OF_EVENTS = `
select d.event_id as "eventId", ${DELIVERY} ${FROM}
 where d.event_id = any($1::uuid[]) and d.owner is null
 order by d.id`;

const RECOVERED = `
select ${EVENT_COLUMNS}, ${DELIVERY} ${FROM}
  join events v on v.id = d.event_id
 where d.id = any($1::uuid[]) and d.owner is not null and d.status = 'pending'
 order by d.id`;
