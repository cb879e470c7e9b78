import type Router from '@koa/router';
import { z } from 'zod';
import { type Authority, OutsideOfNetworks, type VerifiedClient } from '../../auth/authority.js';
import { includesScope, SCOPES } from '../../auth/caller.js';
import { type Assertion, AssertionFault } from '../../auth/client-assertion.js';
import type { Handle } from '../../platform/database/database.js';
import { isId } from '../../platform/ids.js';
import { LIMITS } from '../../platform/limits.js';
import { hostNetwork } from '../../platform/networks.js';
import { MemoryLimit, PostgresLimit } from '../../platform/rate-limit.js';
import { PROBLEMS, type RefusalCode } from '../../platform/refusal.js';
import { Secret } from '../../platform/secret.js';
import type { Log } from '../../platform/telemetry/log.js';
import { MAX_DEPTH, parseBody, readBytes, textOf } from '../body.js';
import type { AppContext, AppMiddleware, State } from '../context.js';
import { refusalOf } from '../response.js';
import { authPaths } from './well-known.js';

/**
 * Limits failed authentications of an address to 100 a minute, over all processes. They are not
 * counted by client, so that an attacker cannot lock out a client from another address. Successful authentications do
 * not count.
 */
export function failedAuthentications(db: Handle) {
  const limit = new PostgresLimit('failed-authentications', LIMITS.failedAuthentications);
  return {
    /** @throws Refusal rate_limited if the address has reached the limit */
    check: (address: string) => limit.check(db, hostNetwork(address)),
    /**
     * Counts a failure. @throws Refusal rate_limited if it exceeds the limit, which covers requests that run at once
     */
    count: (address: string) => limit.consume(db, hostNetwork(address)),
  };
}

export type FailedAuthentications = ReturnType<typeof failedAuthentications>;

interface Services {
  authority: Pick<Authority, 'issuer' | 'audience' | 'verifyClient' | 'verifyAssertion' | 'issue'>;
  failures: FailedAuthentications;
  limit: MemoryLimit;
}

/** `POST {AUTH_URL}/oauth/token`. */
export function addTokenEndpoint(router: Router<State>, dependencies: Omit<Services, 'limit'>): void {
  const services = { ...dependencies, limit: new MemoryLimit(LIMITS.tokens) };
  router.post(tokenPaths(services.authority.issuer), (ctx) =>
    answerTokenRequest(ctx, services).catch(async (error: unknown) => {
      // A request without credentials guesses nothing: clients that wait for a challenge begin with one.
      if (error instanceof OAuthError && error.code === 'invalid_client' && !(error instanceof NoCredentials))
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
  const { accessToken, expiresIn, scope } = await authority.issue(client, scopes);
  forbidStorage(ctx);
  ctx.body = { access_token: accessToken, token_type: 'Bearer', expires_in: expiresIn, scope };
}

function requireGrantType({ grant_type }: TokenParameters): void {
  if (grant_type === undefined) throw invalidRequest('grant_type is missing.');
  if (grant_type !== 'client_credentials') {
    throw new OAuthError('unsupported_grant_type', 'The only grant_type is client_credentials.');
  }
}

/**
 * Sets the client for the log: the claimed id if it is a UUID, and the id of the secret or key once that is verified.
 */
async function authenticateClient(
  { state }: AppContext,
  credentials: ClientCredentials,
  { authority, failures }: Services,
): Promise<VerifiedClient> {
  const { address } = state;
  const claimed = credentials.clientId ?? '';
  if (isId(claimed)) state.tokenClient = { clientId: claimed.toLowerCase() };
  await failures.check(address);
  const verifying =
    'assertion' in credentials
      ? authority.verifyAssertion(credentials, address)
      : authority.verifyClient(credentials.clientId, credentials.clientSecret, address);
  const client = await verifying.catch((error: unknown) => {
    if (error instanceof OutsideOfNetworks) {
      state.tokenClient = { clientId: claimed, secretId: error.secretId, byKey: error.byKey };
    }
    if (error instanceof AssertionFault) {
      throw new OAuthError('invalid_client', `The client_assertion ${error.message}.`, 401);
    }
    throw error;
  });
  if (!client) throw invalidClient();
  const { clientId, secretId, byKey } = client;
  state.tokenClient = { clientId, secretId, byKey };
  return client;
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
  if (!requested.every((each) => includesScope(client.scopes, each))) {
    throw new OAuthError('invalid_scope', `The client's scopes are ${client.scopes.join(', ')}.`);
  }
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
      if (error.status === 429 || error.status === 503) ctx.set('Retry-After', String(error.retryAfter));
      // RFC 6749 §5.2: libraries that sent the credentials in the body take a challenge for the error.
      const triedBasic = error.code === 'invalid_client' && /^basic(?: |$)/i.test(ctx.get('Authorization'));
      if (triedBasic || error instanceof NoCredentials) ctx.set(CHALLENGE);
      forbidStorage(ctx);
      ctx.body = { error: error.code, error_description: error.message };
    }
  };
}

/**
 * Lets the explorer of `/docs` read the responses of the token endpoint, errors included, where AUTH_URL has another
 * origin than BASE_URL. Swagger UI sends `X-Requested-With`.
 */
export function tokenCors({ issuer, audience }: Pick<Authority, 'issuer' | 'audience'>): AppMiddleware {
  const paths = new Set(tokenPaths(issuer));
  const { origin } = new URL(audience);
  if (origin === new URL(issuer).origin) return (_ctx, next) => next();
  return (ctx, next) => {
    if (!paths.has(ctx.path)) return next();
    ctx.vary('Origin');
    if (ctx.get('Origin') !== origin) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    if (ctx.method === 'OPTIONS') {
      ctx.set({
        'Access-Control-Allow-Methods': 'POST',
        'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Requested-With',
      });
    }
    return next();
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
    readonly code: string,
    description: string,
    readonly status = 400,
    readonly retryAfter = 1,
  ) {
    super(description);
  }
}

/** The same response for an unknown client and for a wrong secret, so that it does not reveal which clients exist. */
function invalidClient(): OAuthError {
  return new OAuthError('invalid_client', 'The client is unknown or its secret is wrong.', 401);
}

/** Clients such as wget, curl --anyauth and Java's HttpClient send Basic only after this error's challenge. */
class NoCredentials extends OAuthError {
  constructor() {
    super('invalid_client', 'The request has no client credentials.', 401);
  }
}

/** Codes of OAuth for the errors of this API that keep their status; any other is an `invalid_request`. */
const OAUTH_CODES: Readonly<Partial<Record<RefusalCode, string>>> = {
  network_not_allowed: 'access_denied',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  internal_error: 'server_error',
  payload_too_large: 'invalid_request',
  method_not_allowed: 'invalid_request',
};

function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const { code, message, retryAfter } = refusalOf(error);
  const own = OAUTH_CODES[code];
  return new OAuthError(own ?? 'invalid_request', message, own ? PROBLEMS[code].status : 400, retryAfter);
}

/** A field is missing, repeated or not a string, or the body cannot be read. */
const invalidRequest = (description: string) => new OAuthError('invalid_request', description);

const NAMES = [
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'grant_type',
  'audience',
  'resource',
  'scope',
] as const;

/** The largest body of a token request, in bytes: it is read before the client is authenticated. */
const MAX_TOKEN_BODY_BYTES = 8 * 1024;

/**
 * The fields of a token request that were sent. RFC 6749 §3.2 treats an empty field as omitted; null in JSON is one, as
 * in every body of a POST.
 */
type TokenParameters = Partial<Record<(typeof NAMES)[number], string>>;

/**
 * Reads the body as JSON (the documented format) or as a form (RFC 6749's format). Unknown fields are ignored (§3.2).
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
  const body = z.record(z.string(), z.unknown()).safeParse(read.value);
  if (!body.success) throw invalidRequest('The body is not a JSON object.');
  return pick((name) => [body.data[name]]);
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
    if (value === undefined || value === null || value === '') continue;
    if (typeof value !== 'string') throw invalidRequest(`${name} is not a string.`);
    parameters[name] = value;
  }
  return parameters;
}

type ClientCredentials = { clientId: string; clientSecret: Secret } | Assertion;

/**
 * The client's credentials, from HTTP Basic or from the body, never from both (RFC 6749 §2.3). With Basic, the body may
 * repeat the same `client_id`: some libraries always send it.
 * @throws OAuthError invalid_request | invalid_client (no credentials, or a header that is not a readable Basic header)
 */
function findClientCredentials(authorization: string, body: TokenParameters): ClientCredentials {
  const { client_assertion, client_assertion_type } = body;
  if (client_assertion !== undefined || client_assertion_type !== undefined) return findAssertion(authorization, body);
  if (authorization === '') {
    if (body.client_id === undefined && body.client_secret === undefined) throw new NoCredentials();
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

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** RFC 7521 §4.2: an assertion is the only credential, and a `client_id` beside it names the same client. */
function findAssertion(authorization: string, body: TokenParameters): Assertion {
  const { client_id: clientId, client_assertion: assertion, client_assertion_type: type } = body;
  if (authorization !== '' || body.client_secret !== undefined) {
    throw invalidRequest('Send an assertion or a secret, not both.');
  }
  if (assertion === undefined) throw invalidRequest('client_assertion is missing.');
  if (type === undefined) throw invalidRequest('client_assertion_type is missing.');
  if (type !== JWT_BEARER)
    throw new OAuthError('invalid_client', `The only client_assertion_type is ${JWT_BEARER}.`, 401);
  return { clientId, assertion };
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
