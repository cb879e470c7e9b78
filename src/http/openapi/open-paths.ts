import { z } from 'zod';
import { SCOPES } from '../../auth/caller.js';
import { ASSERTION_ALGORITHMS } from '../../auth/client-keys.js';
import { SIGNING_ALGORITHM } from '../../auth/signing-keys.js';
import { EVENT_CATALOGUE, EVENT_TYPES, type EventType } from '../../delivery/event-catalogue.js';
import { EXAMPLE_ID } from '../../platform/ids.js';
import { deliveredEvent, pascalCase } from '../schemas/delivery.js';
import { components, view } from '../schemas/fields.js';
import { metaView } from '../schemas/meta.js';
import { jsonContent, notReadyView, problemResponses, readyView, requestBodyOf } from './schemas.js';

type Json = Record<string, unknown>;
type Paths = Record<string, Record<string, Json>>;

const healthView = view('Health', { status: z.string().meta({ examples: ['ok'] }) });

// The formats of tokens are those of OAuth, not of this API.
const tokenRequest = view('TokenRequest', {
  client_id: z
    .string()
    .optional()
    .meta({ examples: [EXAMPLE_ID] }),
  client_secret: z
    .string()
    .optional()
    .meta({ writeOnly: true, examples: ['<CLIENT_SECRET>'] }),
  client_assertion: z
    .string()
    .optional()
    .meta({ description: 'Instead of a secret: a JWT signed with a key of the client (`private_key_jwt`, RFC 7523).' }),
  client_assertion_type: z
    .string()
    .optional()
    .meta({ description: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }),
  audience: z
    .string()
    .optional()
    .meta({
      examples: ['https://api.example.com'],
      description: 'The base URL of the API, also the default; `resource` (RFC 8707) is another name for this field.',
    }),
  grant_type: z.enum(['client_credentials']),
  scope: z.string().optional().meta({ description: 'Space-separated; default: all scopes of the client.' }),
});
const tokenView = view('Token', {
  access_token: z.string(),
  token_type: z.enum(['Bearer']),
  expires_in: z
    .int()
    .min(1)
    .meta({ description: 'The lifetime of the token in seconds.', examples: [3600] }),
  scope: z.string().meta({ examples: ['transfers:read transfers:write'] }),
});
// RFC 6749 §5.2
const tokenErrorView = view('TokenError', { error: z.string(), error_description: z.string().optional() });
const jwkSetView = view('JwkSet', { keys: z.array(z.record(z.string(), z.unknown())) });
const url = (path: string) => z.string().meta({ format: 'uri', examples: [`https://auth.example.com${path}`] });
const listOf = (...values: readonly string[]) => z.array(z.string()).meta({ examples: [values] });
// RFC 8414 §2. Later releases may have more members.
const authorizationServer = z.looseObject({
  issuer: url(''),
  token_endpoint: url('/oauth/token'),
  jwks_uri: url('/.well-known/jwks.json'),
  scopes_supported: listOf(...SCOPES),
  response_types_supported: listOf(),
  grant_types_supported: listOf('client_credentials'),
  token_endpoint_auth_methods_supported: listOf('client_secret_basic', 'client_secret_post', 'private_key_jwt'),
  token_endpoint_auth_signing_alg_values_supported: listOf(...ASSERTION_ALGORITHMS),
});
const authorizationServerView = authorizationServer.register(components, { id: 'AuthorizationServer' });
const openIdView = authorizationServer
  .extend({
    response_types_supported: listOf('none'),
    subject_types_supported: listOf('public'),
    id_token_signing_alg_values_supported: listOf(SIGNING_ALGORITHM),
  })
  .register(components, { id: 'OpenIdConfiguration' });

/** The paths that need no token: health, metadata, this documentation, and the token endpoint with its discovery. */
export function openPaths(authUrl: string): Paths {
  const shared = { tags: ['Tokens'], servers: [{ url: authUrl, description: 'The host of the token endpoint' }] };
  const discovery = (operationId: string, summary: string, schema: z.ZodType, others: Json = DOCUMENT) =>
    get(operationId, summary, jsonContent(schema), others, shared);
  return {
    '/healthz': get('getHealth', 'Check that the process is alive', jsonContent(healthView)),
    '/readyz': get('getReadiness', 'Check that the process can serve requests', jsonContent(readyView), {
      '503': {
        description: '`unavailable`: `checks` names the dependency that is down.',
        ...jsonContent(notReadyView, 'application/problem+json'),
      },
    }),
    '/': get(
      'getIndex',
      'Links to the documents and the console: a page for browsers, else JSON',
      {
        content: {
          ...anyJson({ name: 'Transfer Service', docs: 'https://api.example.com/docs' }).content,
          ...HTML.content,
        },
      },
      DOCUMENT,
    ),
    '/meta': get('getMeta', 'Read the metadata of this environment', jsonContent(metaView), DOCUMENT),
    '/openapi.json': get('getOpenApi', 'This document', anyJson({ openapi: '3.1.0' }), DOCUMENT),
    '/docs': get('getDocs', 'This document as an API explorer', HTML, DOCUMENT),
    '/docs/guide': get(
      'getGuide',
      'The guide for integrators, with the reference and the errors, as a page without script',
      HTML,
      DOCUMENT,
    ),
    '/docs/guide.md': get(
      'getGuideMarkdown',
      'The same guide as Markdown',
      textOf('text/markdown', '# Guide'),
      DOCUMENT,
    ),
    '/llms.txt': get(
      'getLlmsText',
      'Links to the documents that programs read',
      textOf('text/plain', '# Transfer Service'),
      DOCUMENT,
    ),
    '/docs/signature-vectors.json': get(
      'getSignatureVectors',
      'Test vectors for a verifier of `Service-Signature`: signed deliveries and forgeries, with the expected results',
      anyJson({ tolerance_seconds: 300, cases: [] }),
      DOCUMENT,
    ),
    '/oauth/token': {
      post: {
        operationId: 'requestToken',
        ...shared,
        security: [],
        summary: 'Get an access token',
        description:
          'Send JSON or a form (`application/x-www-form-urlencoded`), with the credentials in the body or as HTTP Basic (RFC 6749).',
        requestBody: requestBodyOf(tokenRequest),
        responses: {
          '200': { description: 'OK', ...jsonContent(tokenView) },
          ...tokenErrors({
            400: '`invalid_request`, `unsupported_grant_type`, `invalid_scope` or `invalid_target`.',
            401: '`invalid_client`: the client is unknown, its secret is wrong, its assertion is not valid or was used before, or the request has no credentials.',
            403: "`access_denied`: the request comes from outside the client's networks.",
            413: '`invalid_request`: the body is larger than 8 KiB.',
            429: '`temporarily_unavailable`: too many failed authentications from this address (100 a minute), or too many tokens for this client (20 a second); see `Retry-After`.',
            503: '`temporarily_unavailable`: a dependency is down.',
          }),
        },
      },
    },
    '/.well-known/jwks.json': withQuery(
      discovery('getJwks', 'The public keys that verify access tokens and statements (RFC 7517)', jwkSetView, {
        ...LIMITED,
        ...problemResponses(['invalid_request']),
      }),
      {
        name: 'retired',
        in: 'query',
        schema: { type: 'string', enum: ['true'] },
        description:
          'With the keys of the last 13 months: they verify the signatures of older statements. Revoked keys are not among them.',
      },
    ),
    '/.well-known/oauth-authorization-server': discovery(
      'getAuthorizationServer',
      'Authorization server metadata (RFC 8414)',
      authorizationServerView,
    ),
    '/.well-known/openid-configuration': discovery(
      'getOpenIdConfiguration',
      'The same metadata, with what OpenID clients require, at their path',
      openIdView,
    ),
  };
}

const withQuery = ({ get }: { get: Json }, parameter: Json) => ({ get: { ...get, parameters: [parameter] } });

const textOf = (type: string, example: string) => ({ content: { [type]: { schema: { type: 'string' }, example } } });
const HTML = textOf('text/html', '<!doctype html>');
const anyJson = (example: Json) => ({ content: { 'application/json': { schema: { type: 'object' }, example } } });

/** The further responses of what is limited by address, and of documents. */
const LIMITED = problemResponses(['rate_limited']);
const DOCUMENT = {
  '304': { description: 'The document is unchanged: its ETag is the one in `If-None-Match`.' },
  ...LIMITED,
};

function get(operationId: string, summary: string, content: Json, others: Json = {}, at: Json = { tags: ['Health'] }) {
  const codes = ['network_not_allowed', 'internal_error', 'unavailable'] as const;
  const responses = { '200': { description: 'OK', ...content }, ...problemResponses(codes), ...others };
  return { get: { operationId, ...at, summary, security: [], responses } };
}

const tokenErrors = (meanings: Record<number, string>): Json =>
  Object.fromEntries(
    Object.entries(meanings).map(([status, description]) => [status, { description, ...jsonContent(tokenErrorView) }]),
  );

/** The requests that the service sends to a registered URL, by event type: callbacks of the registration. */
export const deliveryCallbacks = Object.fromEntries(
  EVENT_TYPES.map((type) => [type, { '{$request.body#/url}': { post: deliveryOf(type) } }]),
);

/**
 * The same as `webhooks` of OpenAPI 3.1, without headers: openapi-generator's Python client with them cannot be
 * imported. It has a tag of its own, because a generated class of operations has the operations of its tag alone.
 */
export const deliveryWebhooks = Object.fromEntries(
  EVENT_TYPES.map((type) => {
    const { parameters, ...delivery } = deliveryOf(type);
    return [type, { post: { ...delivery, operationId: `on${pascalCase(type)}`, tags: ['Webhooks'] } }];
  }),
);

function deliveryOf(type: EventType) {
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
      // Only with `signatures: ["standard"]`.
      { ...header('webhook-id', '0192f0c1-2f3a-7b4c-8d5e-6f708192a3b4'), required: false },
      { ...header('webhook-timestamp', '1795255200'), required: false },
      { ...header('webhook-signature', 'v1,<base64 HMAC-SHA256>'), required: false },
    ],
    requestBody: { required: true, ...jsonContent(deliveredEvent) },
    responses: {
      '2XX': { description: 'Received.' },
      '410': { description: 'The receiver no longer accepts events: the service disables the endpoint.' },
      default: { description: 'Not received: the service retries, as `/meta` says.' },
    },
  };
}

function header(name: string, example: string) {
  return { name, in: 'header', required: true, schema: { type: 'string' }, example };
}
