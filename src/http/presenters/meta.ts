import { z } from 'zod';
import type { Config } from '../../config.js';
import { formatLadder } from '../../ladder.js';
import { VERSION } from '../../version.js';
import { EVENT_VERSION } from '../../webhooks/event-catalogue.js';
import { components } from '../openapi/components.js';

export const metaView = z
  .object({
    environment: z.enum(['sandbox', 'production']),
    version: z.string().meta({ description: 'The release of the service.', examples: [VERSION] }),
    event_version: z.string().meta({ description: 'The version of the event format.', examples: [EVENT_VERSION] }),
    retry_delays: z.array(z.string()).meta({
      description: 'The delays of the retries after the first attempt, in order.',
      examples: [['0s', '5m', '30m', '2h', '6h', '24h']],
    }),
    egress_addresses: z.array(z.string()).meta({
      description: 'The networks (CIDR) that deliveries come from; empty if the operator has not configured them.',
      examples: [['203.0.113.0/28']],
    }),
  })
  .register(components, { id: 'Meta' });

/**
 * The facts about an environment that an integrator needs before the first delivery (contract, Errors, limits, paging).
 */
export function presentMeta({
  environment,
  retryDelays,
  egressAddresses,
}: Pick<Config, 'environment' | 'retryDelays' | 'egressAddresses'>): z.output<typeof metaView> {
  return {
    environment,
    version: VERSION,
    event_version: EVENT_VERSION,
    retry_delays: formatLadder(retryDelays),
    egress_addresses: [...egressAddresses],
  };
}
