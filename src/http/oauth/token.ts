import type Router from '@koa/router';
import { type Authority, OutsideOfNetworks, SecretExpired, type VerifiedClient } from '../../auth/authority.js';
import { includesScope, SCOPES } from '../../auth/caller.js';
import type { Handle } from '../../platform/database/database.js';
import { isId } from '../../platform/ids.js';
import { LIMITS } from '../../platform/limits.js';
import { hostNetwork } from '../../platform/networks.js';
import { MemoryLimit, PostgresLimit } from '../../platform/rate-limit.js';
import { PROBLEMS } from '../../platform/refusal.js';
import { Secret } from '../../platform/secret.js';
import type { Log } from '../../platform/telemetry/log.js';
import { MAX_DEPTH, parseBody, readBytes, textOf } from '../body.js';
import type { AppContext, AppMiddleware, State } from '../context.js';
import { refusalOf } from '../response.js';
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

interface Services {
  authority: Pick<Authority, 'issuer' | 'audience' | 'verifyClient' | 'issue'>;
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
  const client = await authenticateClient(ctx, credentials, services);
  checkTargets(parameters, authority.audience);
  const scopes = chooseScopes(parameters, client);
  limit.refuseExceeded(limit.use(client.clientId));
  const { accessToken, expiresIn, scope } = await authority.issue(client, scopes).catch((error: unknown) => {
    throw error instanceof SecretExpired ? invalidClient() : error;
  });
  forbidStorage(ctx);
  ctx.body = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresIn, scope };
}

function requireGrantType({ grant_type }: TokenParameters): void {
  if (grant_type === undefined) throw invalidRequest('grant_type is missing.');
  if (grant_type !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 'The only grant_type is client_credentials.');
  }
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

/** `resource` (RFC 8707) is another name for `audience`; a request may have both, or neither. */
function checkTargets(parameters: TokenParameters, only: string): void {
  const { audience = only, resource = only } = parameters;
  if (audience !== only || resource !== only) {
    throw new OAuthError('invalid_target', `The audience of this environment is ${only}.`);
  }
}

/**
 * The requested scopes if the client has all of them; all scopes of the client if none was requested (RFC 6749 §3.3).
 */
function chooseScopes({ scope = '' }: TokenParameters, client: VerifiedClient): readonly string[] {
  const requested = scope.split(' ').filter((each) => each !== '');
  if (requested.length === 0) return client.scopes;
  if (!requested.every((each) => includesScope(client.scopes, each))) throw invalidScope(requested, client);
  return SCOPES.filter((each) => requested.includes(each));
}

/**
 * Answers every error on the token endpoint's paths in the form of RFC 6749 §5.2, also errors of earlier middleware.
 */
export function tokenErrors(issuer: string, log: Log): AppMiddleware {
  const paths = new Set(tokenPaths(issuer));
  return async (ctx, next) => {
    if (!paths.has(ctx.path)) return next();
    try {
      await next();
    } catch (thrown) {
      const error = toOAuthError(thrown);
      if (error.status === 500) log.error({ err: thrown, request_id: ctx.state.requestId }, 'token request');
      ctx.status = error.status;
      ctx.set({ ...error.headers });
      // RFC 6749 §5.2: libraries that sent the credentials in the body take a challenge for the error.
      if (error.code === 'invalid_client' && /^basic(?: |$)/i.test(ctx.get('Authorization'))) ctx.set(CHALLENGE);
      forbidStorage(ctx);
      ctx.body = { error: error.code, error_description: error.message };
    }
  };
}

const CHALLENGE = { 'WWW-Authenticate': 'Basic realm="transfer-service", charset="UTF-8"' };

/** RFC 6749 §5.1 */
function forbidStorage(ctx: Pick<AppContext, 'set'>): void {
  ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
}

/**
 * An error response of the token endpoint: RFC 6749 §5.2; `invalid_target` is from RFC 8707 §2. A description never
 * repeats any part of the request.
 */
class OAuthError extends Error {
  constructor(
    readonly code:
      | 'invalid_request'
      | 'invalid_client'
      | 'unsupported_grant_type'
      | 'invalid_scope'
      | 'invalid_target'
      | 'access_denied'
      | 'temporarily_unavailable'
      | 'server_error',
    description: string,
    readonly status = 400,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
  }
}

/** The same response for an unknown client and for a wrong secret, so that it does not reveal which clients exist. */
function invalidClient(): OAuthError {
  return new OAuthError('invalid_client', 'The client is unknown or its secret is wrong.', 401);
}

/** Names the scopes that exist and that the client lacks. */
function invalidScope(requested: readonly string[], { scopes }: VerifiedClient): OAuthError {
  const missing = SCOPES.filter((each) => requested.includes(each) && !includesScope(scopes, each));
  const reason = missing.length > 0 ? `The client does not have ${missing.join(', ')}` : 'A requested scope is unknown';
  return new OAuthError('invalid_scope', `${reason}. The client's scopes: ${scopes.join(', ')}.`);
}

/** Any thrown error as an OAuth error. */
export function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const { code, message, retryAfter = 1 } = refusalOf(error);
  const headers = { 'Retry-After': String(retryAfter) };
  switch (code) {
    case 'network_not_allowed':
      return new OAuthError('access_denied', 'The request comes from outside the allowed networks.', 403);
    case 'rate_limited':
      return new OAuthError('temporarily_unavailable', message, 429, headers);
    case 'unavailable': {
      const description = 'The service cannot issue tokens at the moment; repeat the request.';
      return new OAuthError('temporarily_unavailable', description, 503, { 'Retry-After': '1' });
    }
    case 'internal_error':
      return new OAuthError('server_error', 'The service failed to process the request.', 500);
    case 'payload_too_large':
    case 'method_not_allowed':
      return new OAuthError('invalid_request', message, PROBLEMS[code].status);
    default:
      return new OAuthError('invalid_request', message);
  }
}

/** A field is missing, repeated or not a string, or the body cannot be read. */
const invalidRequest = (description: string) => new OAuthError('invalid_request', description);

const NAMES = ['client_id', 'client_secret', 'grant_type', 'audience', 'resource', 'scope'] as const;

/** The largest body of a token request, in bytes (contract, Tokens): it is read before the client is authenticated. */
const MAX_TOKEN_BODY_BYTES = 8 * 1024;

/** The fields of a token request that were sent. RFC 6749 §3.2 treats an empty field as omitted. */
type TokenParameters = Partial<Record<(typeof NAMES)[number], string>>;

/**
 * Reads the body as JSON (the spec's format) or as a form (RFC 6749's format). Unknown fields are ignored (§3.2).
 * @throws OAuthError invalid_request; Refusal payload_too_large | unsupported_media_type | malformed_request
 */
async function readTokenParameters(ctx: AppContext): Promise<TokenParameters> {
  const type = ctx.get('Content-Type').split(';')[0]?.trim().toLowerCase();
  const bytes = await readBytes(ctx, MAX_TOKEN_BODY_BYTES);
  if (type === 'application/json') return fromJson(bytes);
  if (type === 'application/x-www-form-urlencoded') return fromForm(bytes);
  throw invalidRequest('Send the body as application/json or application/x-www-form-urlencoded.');
}

function fromJson(bytes: Uint8Array): TokenParameters {
  const read = parseBody(bytes, Number.POSITIVE_INFINITY);
  if ('excess' in read) throw invalidRequest(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  const body = read.value;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidRequest('The body is not a JSON object.');
  }
  return pick((name) => (Object.hasOwn(body, name) ? [(body as Record<string, unknown>)[name]] : []));
}

function fromForm(bytes: Uint8Array): TokenParameters {
  const text = textOf(bytes);
  if (text === undefined) throw invalidRequest('The body is not valid UTF-8.');
  const form = new URLSearchParams(text);
  return pick((name) => form.getAll(name));
}

function pick(valuesOf: (name: string) => readonly unknown[]): TokenParameters {
  const parameters: TokenParameters = {};
  for (const name of NAMES) {
    const [value, ...more] = valuesOf(name);
    if (more.length > 0) throw invalidRequest(`${name} appears more than once.`);
    if (value === undefined || value === '') continue;
    if (typeof value !== 'string') throw invalidRequest(`${name} is not a string.`);
    parameters[name] = value;
  }
  return parameters;
}

interface ClientCredentials {
  clientId: string;
  clientSecret: Secret;
}

/**
 * The client's credentials, from HTTP Basic or from the body, never from both (RFC 6749 §2.3). With Basic, the body may
 * repeat the same `client_id`: some libraries always send it.
 * @throws OAuthError invalid_request | invalid_client (an Authorization header that is not a readable Basic header)
 */
function findClientCredentials(authorization: string, body: TokenParameters): ClientCredentials {
  if (authorization === '') {
    if (body.client_id === undefined) throw invalidRequest('client_id is missing.');
    if (body.client_secret === undefined) throw invalidRequest('client_secret is missing.');
    return { clientId: body.client_id, clientSecret: new Secret(body.client_secret) };
  }
  if (body.client_secret !== undefined) {
    throw invalidRequest('Send the credentials in the Authorization header or in the body, not in both.');
  }
  const credentials = readBasic(authorization);
  if (body.client_id !== undefined && body.client_id !== credentials.clientId) {
    throw invalidRequest('client_id differs from the one in the Authorization header.');
  }
  return credentials;
}

/** Reads Basic credentials (RFC 7617), whose parts are form-encoded (RFC 6749 §2.3.1). */
function readBasic(authorization: string): ClientCredentials {
  const encoded = /^basic +([\w+/-]+=*) *$/i.exec(authorization)?.[1];
  const [id, ...secret] = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const clientId = formDecoded(id ?? '');
  const clientSecret = formDecoded(secret.join(':'));
  if (!clientId || clientSecret === undefined) throw invalidClient();
  return { clientId, clientSecret: new Secret(clientSecret) };
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
