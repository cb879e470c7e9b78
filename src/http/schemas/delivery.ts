import { z } from 'zod';
import { EVENT_CATALOGUE, EVENT_TYPES } from '../../delivery/event-catalogue.js';
import { KEPT_HEADERS, type KeptHeaders } from '../../delivery/sender/headers.js';
import type { Attempt } from '../../platform/database/generated/client.js';
import { DeliveryStatus, type TransferStatus } from '../../platform/database/generated/enums.js';
import { ATTEMPT_ERRORS, EVENT_VERSION, SHOWN_ATTEMPTS, TRIGGERS } from '../../platform/vocabulary.js';
import type { DeliveryRecord, DeliveryRow, DeliveryWithAttempts } from '../../reports/read-deliveries.js';
import type { EventRecord } from '../../reports/read-events.js';
import { components, count, present, time, uuid, view } from './fields.js';
import { transferStatus } from './transfer.js';

/** `transfer.status_changed` → `TransferStatusChanged` */
export function pascalCase(type: string): string {
  return type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** One schema for the data of all event types. */
function anyOf<Schema extends z.ZodType>(schemas: readonly Schema[]) {
  const [only] = schemas;
  return only && schemas.length === 1 ? only : z.union(schemas);
}

/** The event as its receiver gets it. */
export const deliveredEvent = view('DeliveredEvent', {
  id: uuid.meta({ description: 'Unique per event: use it to discard duplicates.' }),
  version: z
    .string()
    .meta({ description: 'The version of the event format.', format: 'date', examples: [EVENT_VERSION] }),
  type: z.string().meta({ examples: EVENT_TYPES }),
  data: anyOf(
    EVENT_TYPES.map((type) => EVENT_CATALOGUE[type].data.register(components, { id: `${pascalCase(type)}Data` })),
  ),
  created_at: z.string().meta({
    description: 'UTC, with fractional seconds and no zone designator.',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$',
    examples: ['2026-11-21T10:00:00.123'],
  }),
});

const counts = view('DeliveryCounts', { pending: count, succeeded: count, failed: count, cancelled: count });

export const eventView = view('Event', {
  ...deliveredEvent.shape,
  deliveries: counts.meta({ description: 'Number of deliveries in each status.' }),
});

/** The event's fields as delivered, parsed from the text that is sent. */
export function presentEvent({ body, deliveries }: EventRecord) {
  return { ...(JSON.parse(body) as z.output<typeof deliveredEvent>), deliveries };
}

const deliveryStatus = z
  .enum(DeliveryStatus)
  .meta({
    description: '`failed`: all attempts failed, or the receiver responded with 410.',
    // In generated Go, the names of TransferStatus would collide with these.
    'x-enum-varnames': Object.values(DeliveryStatus).map((status) => `DELIVERY_${status.toUpperCase()}`),
    examples: ['succeeded'],
  })
  .register(components, { id: 'DeliveryStatus' });

/** The fields of an attempt that lists also show. */
const summary = {
  number: z.int().min(1),
  trigger: z.enum(TRIGGERS),
  started_at: time,
  duration_ms: count,
  response_status: z.nullable(z.int().min(100).max(999)).meta({ examples: [204] }),
  error: z.nullable(z.enum(ATTEMPT_ERRORS)).meta({ description: 'Null if the attempt succeeded.', examples: [null] }),
};

const lastAttempt = view('LastAttempt', summary);

export const attemptView = view('Attempt', {
  ...summary,
  url: z.string().meta({ examples: ['https://example.com/hooks'] }),
  t: z.string().meta({ description: 'The signed timestamp, as sent.', examples: ['2026-11-21T10:00:00.123Z'] }),
  response_headers: z.nullable(z.partialRecord(z.enum(KEPT_HEADERS), z.string())).meta({
    description:
      'The listed headers that the receiver sent; null if there was no response. Values are cut at 256 characters. `location` is shown without user name, query and fragment.',
    examples: [{ 'content-type': 'text/plain', 'retry-after': '120' }],
  }),
  response_body: z.nullable(z.string()).meta({
    description:
      "The first 4 KiB of the receiver's response as text, by its `Content-Encoding` and charset (UTF-8 if it names none); null if there was no response.",
    examples: [null],
  }),
  detail: z.nullable(z.string()).meta({
    description: 'What was odd or wrong, in one sentence, even if the attempt succeeded.',
    examples: ['The head of the response has both Content-Length and Transfer-Encoding.'],
  }),
});

const delivery = z.object({
  id: uuid,
  event_id: uuid,
  webhookId: uuid,
  url: z.string().meta({ description: "The endpoint's current URL.", examples: ['https://example.com/hooks'] }),
  status: deliveryStatus,
  reason: z.nullable(z.string()).meta({ description: 'Why the delivery ended without success.', examples: [null] }),
  attempt_count: count,
  next_attempt_at: time.nullable().meta({
    description:
      'When the next attempt of the retry schedule is due; a manual retry does not change it. Null once the delivery has ended; in the past while an attempt is in flight or late.',
  }),
  created_at: time,
  finished_at: time.nullable(),
  event_type: deliveredEvent.shape.type,
  transfer_id: uuid,
  transfer_status: transferStatus.meta({ description: 'The status that the event reports.' }),
});

const plannedAttempt = view('PlannedAttempt', { number: z.int().min(1), at: time });

/** A delivery in lists, and as the response of a retry. */
export const deliveryView = view('Delivery', {
  ...delivery.shape,
  last_attempt: lastAttempt.nullable().meta({ description: 'Null before the first attempt.' }),
});

export const deliveryWithAttemptsView = view('DeliveryWithAttempts', {
  ...delivery.shape,
  attempts: z
    .array(attemptView)
    .max(SHOWN_ATTEMPTS)
    .meta({
      description: `The latest ${SHOWN_ATTEMPTS} attempts, oldest first. \`/deliveries/{id}/attempts\` lists all of them.`,
    }),
  planned_attempts: z.array(plannedAttempt).meta({
    description:
      'The remaining attempts of the retry schedule, if each fails at once. The first is at `next_attempt_at`. Empty once the delivery has ended.',
  }),
});

export function presentDelivery(record: DeliveryRecord) {
  return { ...fieldsOf(record), last_attempt: record.lastAttempt && present(lastAttempt, record.lastAttempt) };
}

export function presentDeliveryWithAttempts(record: DeliveryWithAttempts) {
  return {
    ...fieldsOf(record),
    attempts: record.attempts.map(presentAttempt),
    planned_attempts: record.planned.map((planned) => present(plannedAttempt, planned)),
  };
}

export function presentAttempt(made: Attempt) {
  return present(attemptView, { ...made, responseHeaders: made.responseHeaders as KeptHeaders | null });
}

function fieldsOf(row: DeliveryRow) {
  const { data } = JSON.parse(row.event.body) as { data: { status: TransferStatus } };
  return present(delivery, {
    ...row,
    webhookId: row.endpointId,
    url: row.endpoint.url,
    eventType: row.event.type,
    transferId: row.event.transferId,
    transferStatus: data.status,
  });
}
