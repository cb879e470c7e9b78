import type { Handle } from '../database/database.js';
import type { Prisma } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';
import type { By } from './actor.js';

/** The actions that the audit records, each as resource and verb. */
export type Action =
  | 'clients.create'
  | 'clients.rotate-secret'
  | 'clients.revoke'
  | 'clients.revoke-secret'
  | 'clients.allow'
  | 'clients.erase'
  | 'endpoints.create'
  | 'endpoints.update'
  | 'endpoints.delete'
  | 'endpoints.disable'
  | 'endpoints.set-concurrency'
  | 'endpoints.enable'
  | 'endpoints.check'
  | 'endpoints.check-failed'
  | 'endpoints.recover'
  | 'endpoints.recover-failed'
  // The statement of src/transfers/change-status.ts writes this entry itself.
  | 'transfers.set-status'
  | 'transfers.expire'
  | 'deliveries.retry'
  | 'deliveries.retry-failed'
  | 'deliveries.reconcile'
  | 'keys.rotate'
  | 'keys.revoke'
  | 'keys.rotate-master'
  // Links, sign-ins and sign-outs of the console, and the changes there that the API does not record: `console.` and
  // the API's operation.
  | `console.${string}`;

export interface AuditRecord extends By {
  action: Action;
  /** The id of the changed resource; null: all resources. */
  target: string | null;
  /** The facts that explain the action. They never contain a secret or its hash. */
  details?: Prisma.InputJsonObject;
}

/** Writes one entry. `tx` is the transaction of the action, so that both commit or neither does. */
export async function recordAudit(tx: Handle, record: AuditRecord): Promise<void> {
  const { actor, session, action, target, details } = record;
  const id = newId();
  const data = { id, at: new Date(timeOf(id)), actor, action, target, details: { ...details, ...session } };
  await tx.prisma.auditEntry.create({ data });
}

/** The actions that Temporal carries out after their transaction. */
type ActionOfTemporal = 'deliveries.retry' | 'endpoints.recover' | 'endpoints.check';

/**
 * Waits for Temporal to accept an action whose entry is written. If Temporal refuses it or does not answer, a second
 * entry says so: no entry is ever removed, and an action without an answer may have been carried out.
 */
export async function recordingFailure<T>(
  db: Handle,
  record: AuditRecord & { action: ActionOfTemporal },
  accepted: Promise<T>,
): Promise<T> {
  try {
    return await accepted;
  } catch (error) {
    await recordAudit(db, { ...record, action: `${record.action}-failed` });
    throw error;
  }
}
