import { EXAMPLE_ID } from '../../ids.js';
import { DOCUMENTS_PER_SECOND } from '../middleware/document-limit.js';

type Json = Record<string, unknown>;

/** The token endpoint and its discovery (contract, Tokens). Their formats are those of OAuth, not of this API. */
export function tokenPaths(authUrl: string): Record<string, Record<string, Json>> {
  const shared = {
    tags: ['Tokens'],
    security: [],
    servers: [{ url: authUrl, description: 'The host of the token endpoint' }],
  };
  const metadata = (operationId: string, summary: string) => ({
    get: {
      operationId,
      ...shared,
      summary,
      responses: {
        '200': response('The metadata.', METADATA, { issuer: authUrl, token_endpoint: `${authUrl}/oauth/token` }),
        ...REFUSED,
      },
    },
  });
  return {
    '/oauth/token': {
      post: {
        operationId: 'requestToken',
        ...shared,
        summary: 'Get an access token',
        description: 'Send JSON or a form, with the credentials in the body or as HTTP Basic (RFC 6749).',
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: REQUEST, example: EXAMPLE },
            'application/x-www-form-urlencoded': { schema: REQUEST, example: EXAMPLE },
          },
        },
        responses: {
          '200': response('A token.', TOKEN, {
            access_token: 'eyJhbGciOi…',
            token_type: 'Bearer',
            expires_in: 3600,
            scope: 'transfers:read transfers:write',
          }),
          '400': refusal(
            '`invalid_request`, `unsupported_grant_type`, `invalid_scope` or `invalid_target`.',
            'invalid_request',
          ),
          '401': refusal('The client is unknown or its secret is wrong.', 'invalid_client'),
          '403': refusal("The request comes from outside the client's networks.", 'access_denied'),
          '413': refusal('The body is larger than 8 KiB.', 'invalid_request'),
          '429': refusal(
            'Too many failed authentications from this address (100 a minute), or too many tokens for this client (20 a second); see `Retry-After`.',
            'temporarily_unavailable',
          ),
          '503': refusal('A dependency is down.', 'temporarily_unavailable'),
        },
      },
    },
    '/.well-known/jwks.json': {
      get: {
        operationId: 'getJwks',
        ...shared,
        summary: 'The public keys that verify access tokens (RFC 7517)',
        responses: { '200': response('A JWK set.', KEYS, { keys: [] }), ...REFUSED },
      },
    },
    '/.well-known/oauth-authorization-server': metadata(
      'getAuthorizationServer',
      'Authorization server metadata (RFC 8414)',
    ),
    '/.well-known/openid-configuration': metadata(
      'getOpenIdConfiguration',
      'The same metadata, at the path that OpenID clients use',
    ),
  };
}

const EXAMPLE = {
  client_id: EXAMPLE_ID,
  client_secret: '<CLIENT_SECRET>',
  audience: 'https://api.example.com',
  grant_type: 'client_credentials',
};

const REQUEST = {
  type: 'object',
  properties: {
    client_id: { type: 'string' },
    client_secret: { type: 'string', writeOnly: true },
    audience: {
      type: 'string',
      description: 'The base URL of the API; `resource` (RFC 8707) is another name for this field.',
    },
    grant_type: { type: 'string', const: 'client_credentials' },
    scope: { type: 'string', description: 'Space-separated; default: all scopes of the client.' },
  },
  required: ['audience', 'grant_type'],
};

const TOKEN = {
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string', const: 'Bearer' },
    expires_in: { type: 'integer', description: 'The lifetime of the token in seconds.' },
    scope: { type: 'string' },
  },
  required: ['access_token', 'token_type', 'expires_in', 'scope'],
};

const KEYS = {
  type: 'object',
  properties: { keys: { type: 'array', items: { type: 'object' } } },
  required: ['keys'],
};

/** The members that every client needs; the response has more (RFC 8414 §2). */
const METADATA = {
  type: 'object',
  properties: { issuer: { type: 'string' }, token_endpoint: { type: 'string' } },
  required: ['issuer', 'token_endpoint'],
  additionalProperties: true,
};

/** RFC 6749 §5.2 */
const ERROR = {
  type: 'object',
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
  required: ['error'],
};

/**
 * A request from outside ALLOWED_NETWORKS or over the limit of its address is refused with the API's problem details.
 */
const REFUSED = {
  '403': {
    description: '`network_not_allowed`',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
  '429': {
    description: `\`rate_limited\`: an address may read ${DOCUMENTS_PER_SECOND} documents a second; see \`Retry-After\`.`,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
};

function refusal(description: string, error: string): Json {
  return response(description, ERROR, { error });
}

function response(description: string, schema: Json, example: Json): Json {
  return { description, content: { 'application/json': { schema, example } } };
}
