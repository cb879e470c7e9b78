import { z } from 'zod';
import { formatLadder } from '../../../workflows/ladder.js';
import type { Config } from '../../platform/config/config.js';
import { VERSION } from '../../platform/version.js';
import { EVENT_VERSION } from '../../platform/vocabulary.js';
import { present, view } from './fields.js';

export const metaView = view('Meta', {
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
});

/**
 * The facts about an environment that an integrator needs before the first delivery.
 */
export function presentMeta(config: Pick<Config, 'environment' | 'retryDelays' | 'egressAddresses'>) {
  const retryDelays = formatLadder(config.retryDelays);
  const egressAddresses = [...config.egressAddresses];
  return present(metaView, { ...config, version: VERSION, eventVersion: EVENT_VERSION, retryDelays, egressAddresses });
}
