import type { Handle } from '../database/database.js';
import type { Prisma } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';
import type { Actor } from './actor.js';

/** What an operator can do, and the audit keeps: resource and verb. */
export type Action =
  | 'clients.create'
  | 'clients.rotate-secret'
  | 'clients.revoke'
  | 'clients.revoke-secret'
  | 'clients.allow'
  | 'endpoints.disable'
  | 'endpoints.enable'
  // Written by the statement of src/transfers/change-status.ts itself.
  | 'transfers.set-status'
  | 'deliveries.retry'
  | 'deliveries.reconcile'
  | 'keys.rotate'
  | 'keys.revoke'
  | 'keys.rotate-master';

export interface AuditRecord {
  actor: Actor;
  action: Action;
  /** The id of what it was done to; null: everything. */
  target: string | null;
  /** What is needed to understand it; never a secret, nor the hash of one. */
  details?: Prisma.InputJsonObject;
}

/** Writes one entry. `tx` is the transaction of the deed, so that there are both or neither. @returns the entry's id */
export async function recordAudit(tx: Handle, { actor, action, target, details = {} }: AuditRecord): Promise<string> {
  const id = newId();
  await tx.prisma.auditEntry.create({ data: { id, at: new Date(timeOf(id)), actor, action, target, details } });
  return id;
}
