import { z } from 'zod';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
import { EVENT_VERSION, TRANSFER_STATUS_CHANGED } from '../../webhooks/event-body.js';
import type { EventRecord } from '../../webhooks/read-events.js';
import { components } from '../openapi/components.js';
import { uuid } from '../schemas/time.js';

/** What is delivered (spec §2, Webhook event). */
const delivered = z.object({
  id: uuid.meta({ description: 'Process an event once: de-duplicate on this.' }),
  version: z.string().meta({ description: 'Version of the event format.', format: 'date', examples: [EVENT_VERSION] }),
  type: z.string().meta({ examples: [TRANSFER_STATUS_CHANGED] }),
  data: z.object({
    id: uuid.meta({ description: "The transfer's." }),
    status: z.enum(TRANSFER_STATUSES).meta({ description: 'The new status.', examples: ['SENT'] }),
  }),
  created_at: z.string().meta({
    description: 'UTC, with fractional seconds and no zone designator.',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$',
    examples: ['2026-11-21T10:00:00.123'],
  }),
});

/** The body of a delivery, as receivers get it. */
export const deliveredView = delivered.register(components, { id: 'DeliveredEvent' });

const count = z.int().nonnegative();

export const eventView = delivered
  .extend({
    deliveries: z
      .object({ pending: count, succeeded: count, failed: count, cancelled: count })
      .meta({ description: 'How many of its deliveries are in each status.' }),
  })
  .register(components, { id: 'Event' });

/** The event's fields as delivered: read from the very text that is sent. */
export function presentEvent({ body, deliveries }: EventRecord): z.output<typeof eventView> {
  return { ...(JSON.parse(body) as z.output<typeof delivered>), deliveries };
}
