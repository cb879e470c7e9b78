import { PROBLEMS } from '../../platform/refusal.js';
import { Secret } from '../../platform/secret.js';
import { MAX_DEPTH, parseBody, readBytes } from '../body.js';
import type { AppContext } from '../context.js';
import { refusalOf } from '../response.js';

/**
 * An error response of the token endpoint: RFC 6749 §5.2; `invalid_target` is from RFC 8707 §2. A description never
 * repeats any part of the request.
 */
export class OAuthError extends Error {
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
export function invalidClient(): OAuthError {
  const headers = { 'WWW-Authenticate': 'Basic realm="transfer-service", charset="UTF-8"' };
  return new OAuthError('invalid_client', 'The client is unknown or its secret is wrong.', 401, headers);
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
export type TokenParameters = Partial<Record<(typeof NAMES)[number], string>>;

/**
 * Reads the body as JSON (the spec's format) or as a form (RFC 6749's format). Unknown fields are ignored (§3.2).
 * @throws OAuthError invalid_request; Refusal payload_too_large | unsupported_media_type | malformed_request
 */
export async function readTokenParameters(ctx: AppContext): Promise<TokenParameters> {
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
  let form: URLSearchParams;
  try {
    form = new URLSearchParams(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalidRequest('The body is not valid UTF-8.');
  }
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

export interface ClientCredentials {
  clientId: string;
  clientSecret: Secret;
}

/**
 * The client's credentials, from HTTP Basic or from the body, never from both (RFC 6749 §2.3). With Basic, the body may
 * repeat the same `client_id`: some libraries always send it.
 * @throws OAuthError invalid_request | invalid_client (an Authorization header that is not a readable Basic header)
 */
export function findClientCredentials(authorization: string, body: TokenParameters): ClientCredentials {
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
