import type { RecoveryPosition } from '../../workflows/recover-endpoint.js';
import { type By, recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import type { Recovery } from '../platform/database/generated/client.js';
import { type IdRange, idsWithin, NIL_ID } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { RECOVERY_STATUSES } from '../platform/vocabulary.js';
import type { QueuedAt } from './handover.js';
import { AT_ONCE } from './lease.js';
import {
  deliverMissing,
  type QueuedPart,
  RECOVERY_WORKFLOW,
  type RecoveryPart,
  resetForRecovery,
  roomInLateLine,
} from './recoveries.js';

export type RecoveryRecord = Recovery & { status: (typeof RECOVERY_STATUSES)[number] };

/** A recovery of an endpoint; `endpointId` undefined: of any, for the operator. */
type Named = { endpointId?: string | undefined; id: string };

/** The recovery of a workflow. */
export const recoveryOf = (workflowId: string) => workflowId.slice(RECOVERY_WORKFLOW.length);

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
 * is queueing. Its workflow, if there is one, ends with the next batch, so this needs no Temporal.
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

/** Ends a recovery and the need for its workflow. If the endpoint is not active, its work is not complete. */
export async function endRecovery(db: Handle, recoveryId: string): Promise<void> {
  await db.query(END, [recoveryId, 'completed']);
}

const END = `
with need as (
  delete from workflow_starts where workflow_id = '${RECOVERY_WORKFLOW}' || $1::uuid
)
update recoveries r set finished_at = now(), status = case
         when exists (select from webhook_endpoints e where e.id = r.endpoint_id and e.enabled and e.deleted_at is null)
         then $2::text else 'cancelled' end
 where id = $1::uuid and status = 'running'
returning id`;

/**
 * Queues the next deliveries of a recovery, as many as the late line has room for, and counts them in the same
 * transaction.
 * @param phase which deliveries: those that sleep, those that have ended, or those of missing events
 * @returns undefined: the recovery has ended, or was removed
 */
export function queueNext(
  db: Handle,
  recoveryId: string,
  phase: RecoveryPosition['phase'],
  part: RecoveryPart,
): Promise<(QueuedPart & Pick<QueuedAt, 'maxConcurrency'>) | undefined> {
  return atomically(db, async (tx) => {
    // A cancellation waits for this lock; after it, nothing is queued.
    const [locked] = await tx.query<Pick<QueuedAt, 'maxConcurrency'>>(LOCK, [recoveryId]);
    if (!locked) return undefined;
    const limit = await roomInLateLine(tx, part.endpointId, part.limit);
    if (limit === 0) return { recovered: 0, after: part.after ?? NIL_ID, ...locked };
    const queued = await queuePhase(tx, phase, { ...part, limit });
    if (queued.recovered > 0) await tx.query(ADVANCE, [recoveryId, queued.recovered]);
    return { ...queued, ...locked };
  });
}

async function queuePhase(tx: Handle, phase: RecoveryPosition['phase'], part: RecoveryPart): Promise<QueuedPart> {
  if (phase === 'missing') return deliverMissing(tx, part);
  const { ids, after } = await resetForRecovery(tx, part, phase);
  return { recovered: ids.length, after };
}

const LOCK = `
select ${AT_ONCE} as "maxConcurrency" from recoveries r join webhook_endpoints e on e.id = r.endpoint_id
 where r.id = $1::uuid and r.status = 'running' for no key update of r`;
const ADVANCE = 'update recoveries set started = started + $2::int where id = $1::uuid';
