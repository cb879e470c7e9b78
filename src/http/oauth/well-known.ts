import type Router from '@koa/router';
import type { Authority } from '../../auth/authority.js';
import { SCOPES } from '../../auth/caller.js';
import type { AppMiddleware, State } from '../context.js';

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
const METADATA_MAX_AGE = 300;

/** The public keys (RFC 7517) and the authorization server's metadata (RFC 8414). */
export function addWellKnown(
  router: Router<State>,
  authority: Pick<Authority, 'issuer' | 'jwks'>,
  limit: AppMiddleware,
): void {
  const { issuer } = authority;
  router.get(authPaths(issuer, '/.well-known/jwks.json'), limit, async (ctx) => {
    const keys = await authority.jwks();
    ctx.set('Cache-Control', `public, max-age=${KEYS_MAX_AGE}`);
    ctx.body = keys;
  });
  const metadata = metadataOf(issuer);
  router.get(metadataPaths(issuer), limit, (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${METADATA_MAX_AGE}`);
    ctx.body = metadata;
  });
}

/**
 * RFC 8414 §3.1 puts the well-known part before the issuer's path. §5 also allows OpenID's suffix, which many clients
 * use by default, and OpenID puts it after the path.
 */
function metadataPaths(issuer: string): string[] {
  const oauth = '/.well-known/oauth-authorization-server';
  const openId = '/.well-known/openid-configuration';
  return [...new Set([`${oauth}${issuerPath(issuer)}`, ...authPaths(issuer, oauth), ...authPaths(issuer, openId)])];
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
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  };
}
