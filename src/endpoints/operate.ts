import type { Actor } from '../platform/audit.js';
import { recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import { disableEndpoint } from './disable.js';
import { enabledNow, lockEndpoint, type PublicEndpoint, refuseWhileCancelling, WITHOUT_SECRET } from './endpoints.js';

/**
 * Enables or disables an endpoint as the operator. The operator's disabling replaces any earlier reason, and only the
 * operator can undo it. A repeated call changes nothing.
 * @throws Refusal not_found | cancellation_in_progress
 */
export function setEndpointEnabledByOperator(
  db: Handle,
  actor: Actor,
  id: string,
  enabled: boolean,
): Promise<PublicEndpoint> {
  return atomically(db, async (tx) => {
    const before = await lockEndpoint(tx, id);
    if (enabled ? before.enabled : before.disabledReason === 'operator') {
      return tx.prisma.endpoint.findUniqueOrThrow({ where: { id }, omit: WITHOUT_SECRET });
    }
    if (enabled) refuseWhileCancelling(before);
    else await disableEndpoint(tx, id, 'operator');
    const data = enabled ? enabledNow() : { disabledReason: 'operator' };
    const endpoint = await tx.prisma.endpoint.update({ where: { id }, data, omit: WITHOUT_SECRET });
    await recordAudit(tx, {
      actor,
      action: enabled ? 'endpoints.enable' : 'endpoints.disable',
      target: id,
      details: { client_id: endpoint.clientId, was: before.disabledReason ?? 'enabled' },
    });
    return endpoint;
  });
}

/**
 * Sets an endpoint's limit of attempts at once as the operator. A repeated call changes nothing.
 * @param limit null: the limit of the deployment
 * @throws Refusal not_found
 */
export function setEndpointConcurrencyByOperator(
  db: Handle,
  actor: Actor,
  id: string,
  limit: number | null,
): Promise<PublicEndpoint> {
  return atomically(db, async (tx) => {
    await lockEndpoint(tx, id);
    const before = await tx.prisma.endpoint.findUniqueOrThrow({ where: { id }, omit: WITHOUT_SECRET });
    if (before.maxConcurrency === limit) return before;
    const data = { maxConcurrency: limit };
    const endpoint = await tx.prisma.endpoint.update({ where: { id }, data, omit: WITHOUT_SECRET });
    await recordAudit(tx, {
      actor,
      action: 'endpoints.set-concurrency',
      target: id,
      details: { client_id: endpoint.clientId, was: before.maxConcurrency ?? 'default', limit: limit ?? 'default' },
    });
    return endpoint;
  });
}
