import type { By } from '../platform/audit.js';

/** Scopes. A client has the first four by default. */
export const CLIENT_SCOPES = ['transfers:read', 'transfers:write', 'webhooks:read', 'webhooks:write'] as const;
/** They give access to `/operator/…` only; `operator` includes the others. */
export const OPERATOR_SCOPES = ['operator:transfers', 'operator:clients', 'operator'] as const;
export const SCOPES = [...CLIENT_SCOPES, ...OPERATOR_SCOPES] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether any of the scopes is the operator's. */
export function hasOperatorScope(scopes: Iterable<string>): boolean {
  return [...scopes].some((scope) => (OPERATOR_SCOPES as readonly string[]).includes(scope));
}

/** Whether a client with these scopes has this one: `operator` includes the operator's others. */
export function includesScope(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || (scopes.includes('operator') && hasOperatorScope([scope]));
}

/** The client that makes a request, as its access token or its session of the console identifies it. */
export interface Caller {
  clientId: string;
  /** The secret or key behind the token or the session; null: the operator's link made the session. */
  secretId: string | null;
  /** `secretId` is that of a key. */
  byKey?: boolean;
  scopes: ReadonlySet<string>;
  /** Requests a second; absent or null: RATE_LIMIT. */
  rateLimit?: number | null;
  /** Who acts through the console; absent: the client's own system. */
  by?: By;
}

/** The caller, as an audit entry names it. */
export const byOf = ({ by, clientId }: Pick<Caller, 'by' | 'clientId'>): By => by ?? { actor: `client:${clientId}` };
