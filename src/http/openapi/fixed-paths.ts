import { formatLadder } from '../../../workflows/ladder.js';
import { EVENT_CATALOGUE, EVENT_TYPES, type EventType } from '../../delivery/event-catalogue.js';
import { EXAMPLE_ID } from '../../platform/ids.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { pascalCase } from '../schemas/delivery.js';
import type { JsonSchema } from './json-schema.js';

type Json = Record<string, unknown>;

const TEXT = { type: 'string' } as const;
const LIMITED = {
  '429': problem(`\`rate_limited\`: Limit: ${describeLimit(LIMITS.documents)}. Wait for \`Retry-After\`.`),
};

const UNCHANGED = {
  '304': { description: 'The document is unchanged: its ETag is the one in `If-None-Match`.' },
  ...LIMITED,
};

/** The paths that need no token: health, metadata and this documentation. */
export const openPaths: Record<string, Record<string, Json>> = {
  '/healthz': open(
    'getHealth',
    'Check that the process is alive',
    response('The process is alive.', { $ref: '#/components/schemas/Health' }, { status: 'ok' }),
  ),
  '/readyz': open(
    'getReadiness',
    'Check that the process can serve requests',
    response(
      'The process can serve requests.',
      { $ref: '#/components/schemas/Readiness' },
      { status: 'ready', checks: { postgres: 'ok', migrations: 'ok', temporal: 'ok' } },
    ),
    { '503': problem('`unavailable`: `checks` names the dependency that is down.', 'NotReady') },
  ),
  '/meta': open(
    'getMeta',
    'Read the metadata of this environment',
    response('The metadata, the same for every caller.', { $ref: '#/components/schemas/Meta' }),
    UNCHANGED,
  ),
  '/openapi.json': document('getOpenApi', 'This document', 'The OpenAPI 3.1 document.', 'application/json', 'object'),
  '/docs': document('getDocs', 'This document as an API explorer'),
  '/docs/guide': document(
    'getGuide',
    'The guide for integrators, with the reference and the errors, as a page without script',
  ),
  '/docs/signature-vectors.json': document(
    'getSignatureVectors',
    'Test vectors for a verifier of `Service-Signature`',
    'Signed deliveries and forgeries, each with the expected result.',
    'application/json',
    'object',
  ),
};

function document(
  operationId: string,
  summary: string,
  description = 'The page.',
  mediaType = 'text/html',
  type: 'string' | 'object' = 'string',
): Record<string, Json> {
  return open(operationId, summary, response(description, { type }, undefined, mediaType), UNCHANGED);
}

function open(operationId: string, summary: string, success: Json, others: Json = {}): Record<string, Json> {
  return {
    get: {
      operationId,
      tags: ['Health'],
      summary,
      security: [],
      responses: {
        '200': success,
        '403': problem('`network_not_allowed`'),
        '500': problem('`internal_error`'),
        '503': problem('`unavailable`'),
        ...others,
      },
    },
  };
}

/** The token endpoint and its discovery (contract, Tokens). Their formats are those of OAuth, not of this API. */
export function tokenPaths(authUrl: string): Record<string, Record<string, Json>> {
  const shared = {
    tags: ['Tokens'],
    security: [],
    servers: [{ url: authUrl, description: 'The host of the token endpoint' }],
  };
  /** Outside ALLOWED_NETWORKS, or over the limit of its address, a request gets the API's problem details. */
  const get = (operationId: string, summary: string, success: Json) => {
    const responses = { '200': success, '403': problem('`network_not_allowed`'), ...LIMITED };
    return { get: { operationId, ...shared, summary, responses } };
  };
  const metadata = response(
    'The metadata.',
    { $ref: '#/components/schemas/AuthorizationServer' },
    {
      issuer: authUrl,
      token_endpoint: `${authUrl}/oauth/token`,
    },
  );
  return {
    '/oauth/token': {
      post: {
        operationId: 'requestToken',
        ...shared,
        summary: 'Get an access token',
        description:
          'Send JSON or a form (`application/x-www-form-urlencoded`), with the credentials in the body or as HTTP Basic (RFC 6749).',
        requestBody: {
          required: true,
          content: { 'application/json': TOKEN_REQUEST },
        },
        responses: {
          '200': TOKEN,
          '400': oauthError(
            '`invalid_request`, `unsupported_grant_type`, `invalid_scope` or `invalid_target`.',
            'invalid_request',
          ),
          '401': oauthError('The client is unknown or its secret is wrong.', 'invalid_client'),
          '403': oauthError("The request comes from outside the client's networks.", 'access_denied'),
          '413': oauthError('The body is larger than 8 KiB.', 'invalid_request'),
          '429': oauthError(
            'Too many failed authentications from this address (100 a minute), or too many tokens for this client (20 a second); see `Retry-After`.',
            'temporarily_unavailable',
          ),
          '503': oauthError('A dependency is down.', 'temporarily_unavailable'),
        },
      },
    },
    '/.well-known/jwks.json': get(
      'getJwks',
      'The public keys that verify access tokens (RFC 7517)',
      response('A JWK set.', { $ref: '#/components/schemas/JwkSet' }, { keys: [] }),
    ),
    '/.well-known/oauth-authorization-server': get(
      'getAuthorizationServer',
      'Authorization server metadata (RFC 8414)',
      metadata,
    ),
    '/.well-known/openid-configuration': get(
      'getOpenIdConfiguration',
      'The same metadata, with what OpenID clients require, at their path',
      metadata,
    ),
  };
}

/** The components of these paths. */
export const FIXED_SCHEMAS: Record<string, JsonSchema> = {
  Health: object({ status: TEXT }),
  JwkSet: object({ keys: { type: 'array', items: { type: 'object' } } }),
  TokenRequest: object(
    {
      client_id: TEXT,
      client_secret: { ...TEXT, writeOnly: true },
      audience: {
        ...TEXT,
        description: 'The base URL of the API, also the default; `resource` (RFC 8707) is another name for this field.',
      },
      grant_type: { ...TEXT, enum: ['client_credentials'] },
      scope: { ...TEXT, description: 'Space-separated; default: all scopes of the client.' },
    },
    ['grant_type'],
  ),
  Token: object({
    access_token: TEXT,
    token_type: { ...TEXT, enum: ['Bearer'] },
    expires_in: { type: 'integer', format: 'int64', description: 'The lifetime of the token in seconds.' },
    scope: TEXT,
  }),
  // RFC 6749 §5.2
  TokenError: object({ error: TEXT, error_description: TEXT }, ['error']),
  // The members that every client needs; the response has more (RFC 8414 §2).
  AuthorizationServer: { ...object({ issuer: TEXT, token_endpoint: TEXT }), additionalProperties: true },
};

const TOKEN_REQUEST = {
  schema: { $ref: '#/components/schemas/TokenRequest' },
  example: {
    client_id: EXAMPLE_ID,
    client_secret: '<CLIENT_SECRET>',
    audience: 'https://api.example.com',
    grant_type: 'client_credentials',
  },
};

const TOKEN = response(
  'A token.',
  { $ref: '#/components/schemas/Token' },
  {
    access_token: 'eyJhbGciOi…',
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'transfers:read transfers:write',
  },
);

function oauthError(description: string, error: string): Json {
  return response(description, { $ref: '#/components/schemas/TokenError' }, { error });
}

/**
 * The requests that the service sends to a registered URL (spec §4, Delivery), by event type: callbacks of the
 * registration. From `webhooks`, openapi-generator makes a Python client that cannot be imported.
 * @param retryDelays in ms
 */
export function deliveryCallbacks(retryDelays: readonly number[]) {
  const byUrl = (type: EventType) => ({ '{$request.body#/url}': { post: deliveryOf(type, retryDelays) } });
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, byUrl(type)]));
}

function deliveryOf(type: EventType, retryDelays: readonly number[]) {
  return {
    operationId: `receive${pascalCase(type)}`,
    tags: ['Webhook endpoints'],
    summary: `Sent to your endpoint when ${EVENT_CATALOGUE[type].when}`,
    description:
      'Events are delivered at least once, and ordering is not guaranteed: discard duplicates by `id`. Verify `Service-Signature`: compute the HMAC-SHA256 of `t + "." + body` with the endpoint\'s secret, and reject a `t` that differs from your clock by more than 5 minutes. Respond with 2xx within 15 s. A 410 response disables the endpoint.',
    security: [],
    parameters: [
      header('Service-Signature', 't=2026-11-21T10:00:00.123Z,v0=<lowercase hex HMAC-SHA256>'),
      header('User-Agent', 'Service-Webhooks/1.0'),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/DeliveredEvent' } } },
    },
    responses: {
      '2XX': { description: `Received. After any other response the service retries: ${ladderInWords(retryDelays)}.` },
      '410': { description: 'The receiver no longer accepts events: the service disables the endpoint.' },
    },
  };
}

/** `at once, then after 5m, 30m, 2h, 6h, 24h` */
function ladderInWords(retryDelays: readonly number[]): string {
  const rungs = formatLadder(retryDelays).map((delay) => (delay === '0s' ? 'at once' : `after ${delay}`));
  return rungs.length === 0 ? 'never' : rungs.join(', ');
}

function header(name: string, example: string) {
  return { name, in: 'header', required: true, schema: TEXT, example };
}

/** @param required all properties unless given */
function object(properties: Record<string, JsonSchema>, required = Object.keys(properties)): JsonSchema {
  return { type: 'object', properties, required };
}

function response(description: string, schema: JsonSchema, example?: Json, type = 'application/json'): Json {
  return { description, content: { [type]: { schema, ...(example && { example }) } } };
}

function problem(description: string, schema = 'Problem'): Json {
  return response(description, { $ref: `#/components/schemas/${schema}` }, undefined, 'application/problem+json');
}
