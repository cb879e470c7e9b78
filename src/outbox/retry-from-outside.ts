import type { Actor } from '../audit/actor.js';
import { recordDeed } from '../audit/record.js';
import type { Environment } from '../config.js';
import { atomically, type Handle } from '../database/database.js';
import type { DeliveryRow } from '../webhooks/read-deliveries.js';
import { temporalSteering } from './steering.js';
import { withTemporal } from './temporal-from-outside.js';

/** A retry from a process that is neither API nor worker: the operator's command. @throws Refusal, ConfigError */
export function retryFromOutside(
  db: Handle,
  environment: Environment,
  actor: Actor,
  { id, clientId, eventId, endpointId }: DeliveryRow,
): Promise<void> {
  return withTemporal(environment, async (client) => {
    const steering = temporalSteering(() => client, environment.DELIVERY_RETRY_DELAYS);
    await atomically(db, async (tx) => {
      // Before Temporal is asked: where the entry cannot be written nothing is done, and where Temporal refuses it goes.
      const details = { client_id: clientId, event_id: eventId, webhookId: endpointId };
      await recordDeed(tx, { actor, action: 'deliveries.retry', target: id, details });
      await steering.retry(tx, clientId, id);
    });
  });
}
