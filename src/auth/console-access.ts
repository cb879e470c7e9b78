import type { By } from '../audit/actor.js';
import { type Action, recordAudit } from '../audit/record.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';
import { CLIENT_SCOPES } from './caller.js';

/** What a session of the console may do. A viewer changes nothing. */
export const CONSOLE_ROLES = ['viewer', 'editor'] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

/** How a session was signed in: with the client's credentials, or by a link of the client or of the operator. */
export type SignInWay = 'credentials' | 'link' | 'operator-link';

/** The right to a session of the console: what a sign-in with credentials, or the maker of a link, passes on. */
export interface ConsoleGrant {
  clientId: string;
  /** The session ends with this secret; null: the operator gave the right. */
  secretId: string | null;
  role: ConsoleRole;
  scopes: readonly string[];
}

/**
 * The scopes of a session: never `operator`, and for a viewer only scopes that end in `:read`.
 * @throws Refusal insufficient_scope if none is left
 */
export function consoleScopes({ role, scopes }: Pick<ConsoleGrant, 'role' | 'scopes'>): string[] {
  const permitted = permittedScopes(role, scopes);
  if (permitted.length > 0) return permitted;
  const reading = role === 'viewer' ? ' that ends in :read' : '';
  throw new Refusal('insufficient_scope', `The console needs a scope of a client${reading}; there is none.`);
}

export function permittedScopes(role: ConsoleRole, scopes: readonly string[]): string[] {
  return CLIENT_SCOPES.filter((scope) => scopes.includes(scope) && (role === 'editor' || scope.endsWith(':read')));
}

/** The facts about a session that each of its audit entries contains. */
export interface ActingSession {
  id: string;
  clientId: string;
  role: ConsoleRole;
  /** The address of the request. */
  address: string;
  signedInBy: SignInWay;
}

/** Records what a session did. `tx` is the transaction of the action. @param target the changed resource's id */
export async function recordBySession(
  tx: Handle,
  session: ActingSession,
  action: Action,
  target: string | null,
  details: Readonly<Record<string, string>> = {},
): Promise<void> {
  await recordAudit(tx, { ...bySession(session), action, target, details });
}

/** A session, as an audit entry names it. */
export function bySession({ id, clientId, role, address, signedInBy }: ActingSession): By {
  return { actor: `console:${clientId}`, session: { session: id, role, address, signed_in_by: signedInBy } };
}

/**
 * The SQL condition that the secret behind a session or a code is valid. A null secret is the operator's.
 * @param row the alias of the row with `secret_id` and `client_id`
 */
export const secretIsValid = (row: string) => `(${row}.secret_id is null or exists (
  select from client_secrets k where k.id = ${row}.secret_id and k.client_id = ${row}.client_id and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > now())))`;
