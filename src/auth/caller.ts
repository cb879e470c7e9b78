import type { By } from '../platform/audit.js';

/** Scopes (contract, Scopes). A client has the first four by default. `operator` gives access to `/operator/…` only. */
export const CLIENT_SCOPES = ['transfers:read', 'transfers:write', 'webhooks:read', 'webhooks:write'] as const;
export const SCOPES = [...CLIENT_SCOPES, 'operator'] as const;
export type Scope = (typeof SCOPES)[number];

/** The client that makes a request, as its access token or its session of the console identifies it. */
export interface Caller {
  clientId: string;
  /** The secret behind the token or the session; null: the operator's link made the session. */
  secretId: string | null;
  scopes: ReadonlySet<string>;
  /** Who acts through the console; absent: the client's own system. */
  by?: By;
}

/** The caller, as an audit entry names it. */
export const byOf = ({ by, clientId }: Pick<Caller, 'by' | 'clientId'>): By => by ?? { actor: `client:${clientId}` };
