import type { Authority } from '../../auth/authority.js';
import type { Scope } from '../../auth/caller.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

const REALM = 'realm="transfer-service"';

/**
 * Sets `ctx.state.caller` to the owner of the request's token. The token is read from `Authorization: Bearer` only (RFC
 * 6750 §2.1): a query or a body may be logged. The challenge of a 401 names `invalid_token` also where no token was
 * sent.
 * @throws Refusal unauthorized | invalid_token | network_not_allowed | unavailable
 */
export function authenticate(authority: Pick<Authority, 'authenticate'>): AppMiddleware {
  return async (ctx, next) => {
    const token = bearerToken(ctx.get('Authorization'));
    try {
      if (token === undefined) throw new Refusal('unauthorized', 'Send an access token: Authorization: Bearer …');
      ctx.state.caller = await authority.authenticate(token, ctx.state.address);
    } catch (error) {
      const challenge = challengeFor(error);
      if (challenge) ctx.set('WWW-Authenticate', challenge);
      throw error;
    }
    return next();
  };
}

/** Admits callers whose token has one of `scopes`. @throws Refusal insufficient_scope (RFC 6750 §3.1) */
export function requireScope(scopes: readonly Scope[]): AppMiddleware {
  return (ctx, next) => {
    if (scopes.some((scope) => ctx.state.caller.scopes.has(scope))) return next();
    ctx.set('WWW-Authenticate', `Bearer ${REALM}, error="insufficient_scope", scope="${scopes.join(' ')}"`);
    throw new Refusal('insufficient_scope', `This request requires the scope ${scopes.join(' or ')}.`);
  };
}

/** The token as `token68` of RFC 9110 §11.2; the scheme is case-insensitive (§11.1). */
function bearerToken(authorization: string): string | undefined {
  return /^bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
}

function challengeFor(error: unknown): string | undefined {
  const code = error instanceof Refusal ? error.code : undefined;
  return code === 'unauthorized' || code === 'invalid_token' ? `Bearer ${REALM}, error="invalid_token"` : undefined;
}
