import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import type { Environment } from '../config.js';
import type { Database } from '../database/database.js';
import { getDeliveryForOperator } from '../webhooks/read-deliveries.js';
import { createDeliveryActions } from './retry-and-recover.js';
import { withTemporal } from './temporal-from-outside.js';

/** The connection closes after the call. Within this time, ms, the SDK ends the call by itself. */
const SDK_ENDS = 60_000;

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
    // The audit entry is written before Temporal is asked: without an entry nothing is done.
    const { plan, entry } = await database.transaction(async (tx) => {
      const details = { client_id: clientId, event_id: eventId, webhookId: endpointId };
      return {
        plan: await retry.plan(tx, { clientId, deliveryId: id }, undefined),
        entry: await recordAudit(tx, { actor, action: 'deliveries.retry', target: id, details }),
      };
    });
    await retry.carryOut(database, plan).catch(async (error: unknown) => {
      await database.prisma.auditEntry.delete({ where: { id: entry } });
      throw error;
    });
  });
}
