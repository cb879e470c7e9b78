import type { Actor } from '../audit/actor.js';
import type { Environment } from '../config.js';
import type { Database } from '../database/database.js';
import { getDeliveryForOperator } from '../webhooks/read-deliveries.js';
import { carryOutAudited } from './carry-out-audited.js';
import { createDeliveryActions } from './retry-and-recover.js';
import { SDK_ENDS, withTemporal } from './temporal-from-outside.js';

/**
 * Retries a delivery from a process that is neither API nor worker: an operator's command.
 * @throws Refusal, ConfigError
 */
export async function retryFromOutside(
  database: Database,
  environment: Environment,
  actor: Actor,
  id: string,
): Promise<void> {
  const { clientId, eventId, endpointId } = await getDeliveryForOperator(database, id);
  await withTemporal(environment, async (client) => {
    const { retry } = createDeliveryActions(() => client, environment.DELIVERY_RETRY_DELAYS, SDK_ENDS);
    const details = { client_id: clientId, event_id: eventId, webhookId: endpointId };
    const record = { actor, action: 'deliveries.retry', target: id, details } as const;
    await carryOutAudited(database, retry, { clientId, deliveryId: id }, record);
  });
}
