import type { DeliverEventInput } from '../../workflows/deliver-event.input.js';
import type { Handle } from '../database/database.js';
import { hostOf } from '../webhooks/make-attempt.js';
import { type LeasedEvent, statusIn } from './events.js';

type DeliveryRow = Omit<DeliverEventInput['deliveries'][number], 'host'> & { eventId: string; url: string };

/** What the workflows of leased events are told: how each delivery stands now. */
export async function readStarts(
  db: Handle,
  events: readonly LeasedEvent[],
  ladder: readonly number[],
): Promise<{ event: LeasedEvent; input: DeliverEventInput }[]> {
  const rows = await db.query<DeliveryRow>(READ_STARTS, [events.map((event) => event.eventId)]);
  return events.map((event) => ({
    event,
    input: {
      eventId: event.eventId,
      clientId: event.clientId,
      title: `${event.type} ${statusIn(event.body)}`,
      deliveries: rows
        .filter((row) => row.eventId === event.eventId)
        .map(({ eventId, url, ...delivery }) => ({ ...delivery, host: hostOf(url) })),
      ladder,
    },
  }));
}

const READ_STARTS = `
select d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "webhookId", e.url,
       d.status::text, d.reason, d.attempt_count as "attemptCount", d.ladder_start as "ladderStart", d.owner,
       coalesce(a.response_status::text, a.error) as "lastOutcome",
       to_char(d.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "nextAttemptAt"
  from deliveries d
  join webhook_endpoints e on e.id = d.endpoint_id
  left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count
 where d.event_id = any($1::uuid[]) and d.owner is null
 order by d.id`;
