import type { Handle } from '../database/database.js';
import type { Prisma } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';
import type { Actor } from './actor.js';

/** The actions that the audit records, each as resource and verb. */
export type Action =
  | 'clients.create'
  | 'clients.rotate-secret'
  | 'clients.revoke'
  | 'clients.revoke-secret'
  | 'clients.allow'
  | 'endpoints.disable'
  | 'endpoints.set-concurrency'
  | 'endpoints.enable'
  | 'endpoints.check'
  | 'endpoints.check-failed'
  // The statement of src/transfers/change-status.ts writes this entry itself.
  | 'transfers.set-status'
  | 'deliveries.retry'
  | 'deliveries.retry-failed'
  | 'deliveries.reconcile'
  | 'keys.rotate'
  | 'keys.revoke'
  | 'keys.rotate-master'
  // Links, sign-ins and sign-outs of the console, and each change made there: `console.` and the API's operation.
  | `console.${string}`;

export interface AuditRecord {
  actor: Actor;
  action: Action;
  /** The id of the changed resource; null: all resources. */
  target: string | null;
  /** The facts that explain the action. They never contain a secret or its hash. */
  details?: Prisma.InputJsonObject;
}

/**
 * Writes one entry. `tx` is the transaction of the action, so that both commit or neither does.
 * @returns the entry's id
 */
export async function recordAudit(tx: Handle, { actor, action, target, details = {} }: AuditRecord): Promise<string> {
  const id = newId();
  await tx.prisma.auditEntry.create({ data: { id, at: new Date(timeOf(id)), actor, action, target, details } });
  return id;
}
