import { z } from 'zod';
import { EVENT_CATALOGUE, EVENT_TYPES, EVENT_VERSION } from '../../webhooks/event-catalogue.js';
import type { EventRecord } from '../../webhooks/read-events.js';
import { components } from '../openapi/components.js';
import { uuid } from '../schemas/time.js';

/** One schema for the data of all event types. */
function anyOf<Schema extends z.ZodType>(schemas: readonly Schema[]) {
  const [only] = schemas;
  return only && schemas.length === 1 ? only : z.union(schemas);
}

/** The event as it is delivered (spec §2, Webhook event). */
const delivered = z.object({
  id: uuid.meta({ description: 'Unique per event: use it to discard duplicates.' }),
  version: z
    .string()
    .meta({ description: 'The version of the event format.', format: 'date', examples: [EVENT_VERSION] }),
  type: z.string().meta({ examples: EVENT_TYPES }),
  data: anyOf(EVENT_TYPES.map((type) => EVENT_CATALOGUE[type].data)),
  created_at: z.string().meta({
    description: 'UTC, with fractional seconds and no zone designator.',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$',
    examples: ['2026-11-21T10:00:00.123'],
  }),
});

/** The body of a delivery, as the receiver gets it. */
export const deliveredView = delivered.register(components, { id: 'DeliveredEvent' });

const count = z.int().nonnegative();

export const eventView = delivered
  .extend({
    deliveries: z
      .object({ pending: count, succeeded: count, failed: count, cancelled: count })
      .meta({ description: 'The number of its deliveries in each status.' }),
  })
  .register(components, { id: 'Event' });

/** The event's fields as delivered, parsed from the text that is sent. */
export function presentEvent({ body, deliveries }: EventRecord): z.output<typeof eventView> {
  return { ...(JSON.parse(body) as z.output<typeof delivered>), deliveries };
}
