import { hostname, userInfo } from 'node:os';
import type { Handle } from '../database/database.js';
import type { Prisma } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';

/** Who acts: a person at a command line, a client through the API, or a client's session of the console. */
export type Actor = `cli:${string}` | `client:${string}` | `console:${string}`;

/** Who acts, as an audit entry says it. */
export interface By {
  actor: Actor;
  /** The facts of the console's session through which the client acts. They never contain a cookie or a code. */
  session?: Readonly<Record<string, string>>;
}

/** The person at this command line; under `sudo`, the user who ran `sudo`. */
export function personHere(env: NodeJS.ProcessEnv = process.env): Actor {
  return `cli:${env.SUDO_USER || userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user in a container may have a number but no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}

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
  | 'endpoints.recover'
  // The statement of src/transfers/change-status.ts writes this entry itself.
  | 'transfers.set-status'
  | 'transfers.expire'
  | 'deliveries.retry'
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
