import type Router from '@koa/router';
import { type Authority, OutsideOfNetworks, type VerifiedClient } from '../../auth/authority.js';
import type { Handle } from '../../platform/database/database.js';
import { isId } from '../../platform/ids.js';
import { LIMITS } from '../../platform/limits.js';
import { hostNetwork } from '../../platform/networks.js';
import { MemoryLimit, PostgresLimit } from '../../platform/rate-limit.js';
import type { Log } from '../../platform/telemetry/log.js';
import type { AppContext, AppMiddleware, State } from '../context.js';
import {
  type ClientCredentials,
  findClientCredentials,
  invalidClient,
  OAuthError,
  readTokenParameters,
  type TokenParameters,
  toOAuthError,
} from './token-request.js';
import { authPaths } from './well-known.js';

/**
 * Limits failed authentications of an address to 100 a minute, over all processes (contract, Tokens). They are not
 * counted by client, so that an attacker cannot lock out a client from another address. Successful authentications do
 * not count.
 */
export class FailedAuthentications {
  readonly #limit = new PostgresLimit('failed-authentications', LIMITS.failedAuthentications);

  constructor(private readonly db: Handle) {}

  /** @throws Refusal rate_limited if the address has reached the limit */
  check(address: string): Promise<void> {
    return this.#limit.check(this.db, hostNetwork(address));
  }

  /**
   * Counts a failure.
   * @throws Refusal rate_limited if it exceeds the limit, which covers requests that run at once
   */
  count(address: string): Promise<void> {
    return this.#limit.consume(this.db, hostNetwork(address));
  }
}

interface TokenDependencies {
  authority: Pick<Authority, 'issuer' | 'audience' | 'verifyClient' | 'issue'>;
  log: Log;
}

interface Services extends TokenDependencies {
  failures: FailedAuthentications;
  limit: MemoryLimit;
}

/** `POST {AUTH_URL}/oauth/token`. */
export function addTokenEndpoint(router: Router<State>, dependencies: Omit<Services, 'limit'>): void {
  const services = { ...dependencies, limit: new MemoryLimit(LIMITS.tokens) };
  router.post(tokenPaths(services.authority.issuer), (ctx) =>
    answerTokenRequest(ctx, services).catch(async (error: unknown) => {
      if (error instanceof OAuthError && error.code === 'invalid_client')
        await services.failures.count(ctx.state.address);
      throw error;
    }),
  );
}

const tokenPaths = (issuer: string) => authPaths(issuer, '/oauth/token');

/**
 * The steps of a token request (RFC 6749 §4.4). The form of the request is checked first: a malformed request costs no
 * look-up and is not a failed authentication. Targets and scopes are checked after the authentication, so that only the
 * client itself learns what it may request.
 */
async function answerTokenRequest(ctx: AppContext, services: Services): Promise<void> {
  const { authority, limit } = services;
  const parameters = await readTokenParameters(ctx);
  const credentials = findClientCredentials(ctx.get('Authorization'), parameters);
  requireGrantType(parameters);
  const targets = requireTargets(parameters);
  const client = await authenticateClient(ctx, credentials, services);
  checkTargets(targets, authority.audience);
  const scopes = chooseScopes(parameters, client);
  await limit.consume(client.clientId);
  const { accessToken, expiresIn, scope } = await authority.issue(client, scopes);
  forbidStorage(ctx);
  ctx.body = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresIn, scope };
}

function requireGrantType({ grant_type }: TokenParameters): void {
  if (grant_type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing.');
  if (grant_type !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 'The only grant_type is client_credentials.');
  }
}

/** `resource` (RFC 8707) is another name for `audience`; a request may have both. */
function requireTargets({ audience, resource }: TokenParameters): string[] {
  const targets = [audience, resource].filter((target) => target !== undefined);
  if (targets.length === 0) throw new OAuthError('invalid_request', 'audience is missing.');
  return targets;
}

/** Sets the client for the log: the claimed id if it is a UUID, and the secret's id once the secret is verified. */
async function authenticateClient(
  { state }: AppContext,
  { clientId, clientSecret }: ClientCredentials,
  { authority, failures }: Services,
): Promise<VerifiedClient> {
  const { address } = state;
  if (isId(clientId)) state.tokenClient = { clientId: clientId.toLowerCase() };
  await failures.check(address);
  const client = await authority.verifyClient(clientId, clientSecret, address).catch((error: unknown) => {
    if (error instanceof OutsideOfNetworks) state.tokenClient = { clientId, secretId: error.secretId };
    throw error;
  });
  if (client) {
    state.tokenClient = { clientId: client.clientId, secretId: client.secretId };
    return client;
  }
  throw invalidClient();
}

function checkTargets(targets: readonly string[], audience: string): void {
  if (targets.some((target) => target !== audience)) {
    throw new OAuthError('invalid_target', `The audience of this environment is ${audience}.`);
  }
}

/**
 * The requested scopes if the client has all of them; all scopes of the client if none was requested (RFC 6749 §3.3).
 */
function chooseScopes({ scope = '' }: TokenParameters, client: VerifiedClient): readonly string[] {
  const requested = scope.split(' ').filter((each) => each !== '');
  if (requested.length === 0) return client.scopes;
  if (!requested.every((each) => client.scopes.includes(each))) {
    throw new OAuthError('invalid_scope', 'The client does not have every requested scope.');
  }
  return client.scopes.filter((each) => requested.includes(each));
}

/**
 * Answers every error on the token endpoint's paths in the form of RFC 6749 §5.2, also errors of earlier middleware.
 */
export function tokenErrors({ authority, log }: TokenDependencies): AppMiddleware {
  const paths = new Set(tokenPaths(authority.issuer));
  return async (ctx, next) => {
    if (!paths.has(ctx.path)) return next();
    try {
      await next();
    } catch (thrown) {
      const error = toOAuthError(thrown);
      if (error.status === 500) log.error({ err: thrown, request_id: ctx.state.requestId }, 'token request');
      ctx.status = error.status;
      ctx.set({ ...error.headers });
      forbidStorage(ctx);
      ctx.body = { error: error.code, error_description: error.message };
    }
  };
}

/** RFC 6749 §5.1 */
function forbidStorage(ctx: Pick<AppContext, 'set'>): void {
  ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
}
