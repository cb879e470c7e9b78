import { ConfigError, type Environment, temporalAt } from '../config.js';
import type { Handle } from '../database/database.js';
import { lazyClient } from '../temporal/connection.js';
import { temporalSteering } from './steering.js';

/** A retry from a process that is neither API nor worker: the operator's command. @throws Refusal, ConfigError */
export async function retryFromOutside(
  db: Handle,
  environment: Environment,
  clientId: string,
  deliveryId: string,
): Promise<void> {
  const { TEMPORAL_ADDRESS: address } = environment;
  if (!address) throw new ConfigError(['TEMPORAL_ADDRESS: is not set; give host:port, such as temporal.internal:7233']);
  const client = lazyClient(temporalAt(address, environment));
  try {
    await temporalSteering(() => client, environment.DELIVERY_RETRY_DELAYS).retry(db, clientId, deliveryId);
  } finally {
    await client.connection.close();
  }
}
