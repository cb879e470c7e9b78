import type { Actor } from '../audit/actor.js';
import type { Environment } from '../config.js';
import type { Database } from '../database/database.js';
import { carryOutNow } from '../webhooks/delivery-actions.js';
import { getDeliveryForOperator } from '../webhooks/read-deliveries.js';
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
  const { clientId } = await getDeliveryForOperator(database, id);
  await withTemporal(environment, async (client) => {
    const { retry } = createDeliveryActions(() => client, environment.DELIVERY_RETRY_DELAYS, SDK_ENDS);
    await carryOutNow(database, retry, { by: { actor }, clientId, deliveryId: id });
  });
}
