import { z } from 'zod';
import { DISABLED_REASONS } from '../../disabled-reasons.js';
import type { PublicEndpoint } from '../../webhooks/endpoints.js';
import { components } from '../openapi/components.js';
import { time, uuid } from '../schemas/time.js';

/** A webhook endpoint as the API shows it. Its secret is never shown (spec §2). */
export const endpointView = z
  .object({
    webhookId: uuid,
    url: z.string().meta({ description: 'As it was registered.', examples: ['https://example.com/hooks'] }),
    description: z
      .string()
      .nullable()
      .meta({ examples: ['Orders, live'] }),
    max_concurrency: z
      .int()
      .nullable()
      .meta({
        description: 'Deliveries that the receiver gets at the same time, at most. Null: the limit of the service.',
        examples: [null],
      }),
    enabled: z.boolean(),
    disabled_reason: z
      .enum(DISABLED_REASONS)
      .nullable()
      .meta({
        description:
          'What disabled the endpoint: your own update (`owner`), the operator (`operator`), a 410 response of the receiver (`gone`), or days without a successful delivery (`failing`). Null if enabled.',
        examples: [null],
      }),
    created_at: time,
    updated_at: time,
  })
  .register(components, { id: 'WebhookEndpoint' });

export function presentEndpoint(endpoint: PublicEndpoint): z.output<typeof endpointView> {
  return {
    webhookId: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    max_concurrency: endpoint.maxConcurrency,
    enabled: endpoint.enabled,
    disabled_reason: endpoint.disabledReason as z.output<typeof endpointView>['disabled_reason'],
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
  };
}
