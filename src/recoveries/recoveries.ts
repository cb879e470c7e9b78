import { ACTIVE } from '../endpoints/disable.js';
import { type By, recordAudit } from '../platform/audit.js';
import type { Handle } from '../platform/database/database.js';
import type { Recovery } from '../platform/database/generated/client.js';
import { type IdRange, idsWithin } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { RECOVERY_STATUSES } from '../platform/vocabulary.js';

export type RecoveryRecord = Recovery & { status: (typeof RECOVERY_STATUSES)[number] };

/** A recovery of an endpoint; `endpointId` undefined: of any, for the operator. */
type Named = { endpointId?: string | undefined; id: string };

/** Recoveries, newest first. @param endpointId undefined: of all endpoints */
export async function listRecoveries(
  db: Handle,
  endpointId: string | undefined,
  { take, ...range }: IdRange & { take: number },
): Promise<RecoveryRecord[]> {
  const where = { ...(endpointId !== undefined && { endpointId }), id: idsWithin(range) };
  return (await db.prisma.recovery.findMany({ where, orderBy: { id: 'desc' }, take })) as RecoveryRecord[];
}

/** @throws Refusal not_found */
export async function getRecovery(db: Handle, { endpointId, id }: Named): Promise<RecoveryRecord> {
  const where = { id, ...(endpointId !== undefined && { endpointId }) };
  const recovery = await db.prisma.recovery.findFirst({ where });
  if (!recovery) throw new Refusal('not_found', 'There is no such recovery.');
  return recovery as RecoveryRecord;
}

/**
 * Cancels a recovery: it queues nothing more, and the endpoint can be recovered again at once. Waits for a batch that
 * is queueing.
 * @throws Refusal not_found | recovery_ended
 */
export async function cancelRecovery(tx: Handle, { by, ...named }: Named & { by: By }): Promise<RecoveryRecord> {
  const { id } = await getRecovery(tx, named);
  const ended = await tx.query(END, [id, 'cancelled']);
  const recovery = await getRecovery(tx, named);
  if (ended.length === 0) {
    throw new Refusal('recovery_ended', `The recovery is ${recovery.status}; there is nothing to cancel.`);
  }
  const { clientId, endpointId: target, started } = recovery;
  const details = { client_id: clientId, recover: id, started };
  await recordAudit(tx, { ...by, action: 'endpoints.cancel-recovery', target, details });
  return recovery;
}

/** Ends a recovery. If the endpoint is not active, its work is not complete. */
export async function endRecovery(db: Handle, recoveryId: string): Promise<void> {
  await db.query(END, [recoveryId, 'completed']);
}

/** A process of release 1.0 may have left the need for a workflow. */
const END = `
with need as (
  delete from workflow_starts where workflow_id = 'recover-' || $1::uuid
)
update recoveries r set finished_at = now(), status = case
         when exists (select from webhook_endpoints e where e.id = r.endpoint_id and ${ACTIVE})
         then $2::text else 'cancelled' end
 where id = $1::uuid and status = 'running'
returning id`;
