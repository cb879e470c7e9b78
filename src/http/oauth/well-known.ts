import type Router from '@koa/router';
import type { Authority } from '../../auth/authority.js';
import { SCOPES } from '../../auth/caller.js';
import { ASSERTION_ALGORITHMS } from '../../auth/client-keys.js';
import { SIGNING_ALGORITHM } from '../../auth/signing-keys.js';
import { Refusal } from '../../platform/refusal.js';
import type { AppMiddleware, State } from '../context.js';
import { staticDocument } from '../response.js';

/**
 * The paths at which a request to `path` below AUTH_URL may arrive: the path itself, where a proxy strips AUTH_URL's
 * own path, and AUTH_URL's path followed by it, where the proxy does not.
 */
export function authPaths(authUrl: string, path: string): string[] {
  return [...new Set([path, `${issuerPath(authUrl)}${path}`])];
}

/** The path component of the issuer; empty if it has none. */
function issuerPath(authUrl: string): string {
  return new URL(authUrl).pathname.replace(/\/$/, '');
}

/** In seconds; shorter than the time between the creation of a signing key and its first signature. */
const KEYS_MAX_AGE = 5;

/** The public keys (RFC 7517) and the authorization server's metadata (RFC 8414, OpenID Connect Discovery). */
export function addWellKnown(
  router: Router<State>,
  authority: Pick<Authority, 'issuer' | 'jwks'>,
  limit: AppMiddleware,
): void {
  const { issuer } = authority;
  router.get(authPaths(issuer, '/.well-known/jwks.json'), limit, async (ctx) => {
    const { retired } = ctx.query;
    if (retired !== undefined && retired !== 'true') {
      const detail = 'must be true, once, or absent';
      const error = { parameter: 'retired', code: 'invalid_value', detail };
      throw new Refusal('invalid_request', `retired: ${detail}.`, [error]);
    }
    const keys = await authority.jwks(retired === 'true');
    ctx.set('Cache-Control', `public, max-age=${KEYS_MAX_AGE}`);
    ctx.body = keys;
  });
  const serve = (paths: string[], metadata: object) =>
    router.get(paths, limit, staticDocument('application/json', JSON.stringify(metadata)));
  const oauth = '/.well-known/oauth-authorization-server';
  // RFC 8414 §3.1 puts the well-known part before the issuer's path, OpenID after it.
  serve([...new Set([`${oauth}${issuerPath(issuer)}`, ...authPaths(issuer, oauth)])], metadataOf(issuer));
  serve(authPaths(issuer, '/.well-known/openid-configuration'), openIdMetadataOf(issuer));
}

/**
 * RFC 8414 §5 allows OpenID's path, which is the default of many clients and the only one of some. They may require
 * what OpenID Connect Discovery §3 does: Spring Security fails without `subject_types_supported`. No ID token is
 * issued, and no supported grant uses an `authorization_endpoint`.
 */
function openIdMetadataOf(issuer: string) {
  return {
    ...metadataOf(issuer),
    // An empty list counts as a missing one, for example in Authlib.
    response_types_supported: ['none'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [SIGNING_ALGORITHM],
  };
}

/** RFC 8414 §2 */
function metadataOf(issuer: string) {
  return {
    issuer,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: SCOPES,
    // No supported grant uses an authorization endpoint.
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  };
}
