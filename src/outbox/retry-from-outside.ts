import type { Actor } from '../audit/actor.js';
import { recordDeed } from '../audit/record.js';
import { ConfigError, type Environment, temporalAt } from '../config.js';
import { atomically, type Handle } from '../database/database.js';
import { lazyClient } from '../temporal/connection.js';
import type { DeliveryRow } from '../webhooks/read-deliveries.js';
import { temporalSteering } from './steering.js';

/** A retry from a process that is neither API nor worker: the operator's command. @throws Refusal, ConfigError */
export async function retryFromOutside(
  db: Handle,
  environment: Environment,
  actor: Actor,
  { id, clientId, eventId, endpointId }: DeliveryRow,
): Promise<void> {
  const { TEMPORAL_ADDRESS: address } = environment;
  if (!address) throw new ConfigError(['TEMPORAL_ADDRESS: is not set; give host:port, such as temporal.internal:7233']);
  const client = lazyClient(temporalAt(address, environment));
  try {
    const steering = temporalSteering(() => client, environment.DELIVERY_RETRY_DELAYS);
    await atomically(db, async (tx) => {
      // Before Temporal is asked: where the entry cannot be written nothing is done, and where Temporal refuses it goes.
      const details = { client_id: clientId, event_id: eventId, webhookId: endpointId };
      await recordDeed(tx, { actor, action: 'deliveries.retry', target: id, details });
      await steering.retry(tx, clientId, id);
    });
  } finally {
    await client.connection.close();
  }
}
