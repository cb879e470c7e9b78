import { z } from 'zod';
import { DeliveryStatus } from '../../database/generated/enums.js';
import { ATTEMPT_ERRORS } from '../../webhooks/attempt-error.js';
import type { DeliveryRecord } from '../../webhooks/read-deliveries.js';
import { TRIGGERS } from '../../webhooks/record.js';
import { components } from '../openapi/components.js';
import { time, uuid } from '../schemas/time.js';

export const deliveryStatus = z
  .enum(DeliveryStatus)
  .meta({ description: '`failed`: the ladder is exhausted, or the receiver answered 410.', examples: ['succeeded'] })
  .register(components, { id: 'DeliveryStatus' });

const attempt = z
  .object({
    number: z.int().positive(),
    trigger: z.enum(TRIGGERS),
    url: z.string().meta({ examples: ['https://example.com/hooks'] }),
    t: z
      .string()
      .meta({ description: 'The timestamp that was signed, as sent.', examples: ['2026-11-21T10:00:00.123Z'] }),
    started_at: time,
    duration_ms: z.int().nonnegative(),
    response_status: z
      .int()
      .nullable()
      .meta({ examples: [204] }),
    response_body: z
      .string()
      .nullable()
      .meta({ description: 'The first 4 KiB, read as UTF-8; null if none came.', examples: [null] }),
    error: z
      .enum(ATTEMPT_ERRORS)
      .nullable()
      .meta({ description: 'Null for a success.', examples: [null] }),
  })
  .register(components, { id: 'Attempt' });

export const deliveryView = z
  .object({
    id: uuid,
    event_id: uuid,
    webhookId: uuid,
    url: z.string().meta({ description: "The endpoint's, as it is now.", examples: ['https://example.com/hooks'] }),
    status: deliveryStatus,
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it ended without a success.', examples: [null] }),
    attempt_count: z.int().nonnegative(),
    next_attempt_at: time.nullable().meta({
      description: 'The planned time; null when ended; past while an attempt runs or the service is behind.',
    }),
    created_at: time,
    finished_at: time.nullable(),
    attempts: z.array(attempt).meta({ description: 'Oldest first.' }),
  })
  .register(components, { id: 'Delivery' });

type View = z.output<typeof deliveryView>;

export function presentDelivery(delivery: DeliveryRecord): View {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    webhookId: delivery.endpointId,
    url: delivery.endpoint.url,
    status: delivery.status,
    reason: delivery.reason,
    attempt_count: delivery.attemptCount,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
    finished_at: delivery.finishedAt?.toISOString() ?? null,
    attempts: delivery.attempts.map(presentAttempt),
  };
}

function presentAttempt(made: DeliveryRecord['attempts'][number]): View['attempts'][number] {
  return {
    number: made.number,
    trigger: made.trigger as View['attempts'][number]['trigger'],
    url: made.url,
    t: made.t,
    started_at: made.startedAt.toISOString(),
    duration_ms: made.durationMs,
    response_status: made.responseStatus,
    response_body: made.responseBody,
    error: made.error as View['attempts'][number]['error'],
  };
}
