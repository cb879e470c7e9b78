import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { hasOperatorScope, type Scope } from '../../auth/caller.js';
import type { Config } from '../../platform/config/config.js';
import type { RefusalCode } from '../../platform/refusal.js';
import { VERSION } from '../../platform/version.js';
import { isKeyed, type Route } from '../route.js';
import { exampleOf } from './examples.js';
import { deliveryCallbacks, deliveryWebhooks, openPaths } from './open-paths.js';
import { componentSchemas, headerRefs, jsonContent, problemResponses, requestBodyOf } from './schemas.js';

type Json = Record<string, unknown>;

/** The environment that the document describes. */
export type Described = Pick<Config, 'environment' | 'baseUrl' | 'authUrl'>;

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
export function openApiDocument(routes: readonly Route[], { environment, baseUrl, authUrl }: Described) {
  const paths = openPaths(authUrl);
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route) };
  }
  const registration = paths['/webhook-endpoints']?.post;
  if (registration) registration.callbacks = deliveryCallbacks;
  const schemas = componentSchemas(paths);
  addExamples(paths, schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Transfer Service',
      version: VERSION,
      summary: `The ${environment} environment`,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { url: `${baseUrl}/docs/guide`, description: 'Guide for integrators' },
    servers: [{ url: baseUrl, description: environment }],
    tags: Object.entries(TAGS)
      .filter(([name]) => name !== 'Sandbox' || environment === 'sandbox')
      .map(([name, description]) => ({ name, description })),
    paths,
    webhooks: deliveryWebhooks,
    components: {
      schemas,
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: {
        oauth2: clientCredentials(TOKEN, authUrl, (scope) => !isOperators(scope)),
        // A client asks for every scope of a scheme, and no client has these beside the others.
        operator: clientCredentials(`For the operator's systems. ${TOKEN}`, authUrl, isOperators),
      },
    },
  };
}

/** Adds an example to each successful response that has a schema of its own. */
function addExamples(paths: ReturnType<typeof openPaths>, schemas: ReturnType<typeof componentSchemas>): void {
  for (const { operationId, responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { content }] of Object.entries(responses as Record<string, { content?: Json }>)) {
      const json = content?.['application/json'] as { schema: { $ref?: string }; example?: unknown } | undefined;
      if (!status.startsWith('2') || !json?.schema.$ref) continue;
      json.example ??= exampleOf(json.schema, schemas, String(operationId));
    }
  }
}

const isOperators = (scope: string) => scope.startsWith('operator');

function clientCredentials(description: string, authUrl: string, has: (scope: string) => boolean) {
  const scopes = Object.fromEntries(Object.entries(SCOPE_MEANINGS).filter(([scope]) => has(scope)));
  const flows = { clientCredentials: { tokenUrl: `${authUrl}/oauth/token`, scopes } };
  return { type: 'oauth2', description, flows };
}

const DESCRIPTION = `Creates transfers and notifies your system of every status change by a signed webhook.

Identifiers are UUIDs. Times are ISO 8601 in UTC with \`Z\`; only an event's \`created_at\` has no zone designator, and it is UTC too. Bodies are JSON in UTF-8. Unknown fields and parameters are rejected. In a POST or PUT, null for an optional field counts as omitted.

Lists are paginated, newest first. \`Link: rel="next"\` and \`next_cursor\` lead to the next page. A response is at most 1 MB: a page that would be larger has fewer items, with \`has_more\` true.

A query has at most 20 parameters. A body has at most 64 KiB, 100 values in its objects and arrays together, and 16 levels. A request rejected for its size counts as five requests. Characters are counted as Unicode code points.

Every POST except \`/console-sessions\`, and those of \`/operator/clients\` whose response holds a secret or a link, accepts an \`Idempotency-Key\`. If you repeat the request within 24 hours with the same key and body, you get the first response again, with \`Idempotency-Replayed: true\`.`;

const TOKEN = 'OAuth 2.0 client credentials. Send the token as `Authorization: Bearer …`.';

const TAGS = {
  Tokens: 'Access tokens (OAuth 2.0 client credentials).',
  'Webhook endpoints': 'The URLs that receive your events.',
  Webhooks: 'What the service sends to your endpoints.',
  Transfers: 'Create, read and cancel transfers.',
  'Events and deliveries': 'The events of your transfers, and the delivery of each event to each endpoint.',
  Sandbox: 'Change the status of your own transfers and check your receivers. Sandbox only.',
  Console: 'The web pages for the people of a client, at `/console`.',
  'Operator: transfers': "Transfers of every client, for the operator's payment rail.",
  'Operator: clients': 'Clients, their secrets and limits. `operator:clients` can act as any of these clients.',
  Health: 'Probes of the service and this documentation.',
};

const SCOPE_MEANINGS: Record<Scope, string> = {
  'transfers:read': 'Read transfers',
  'transfers:write': 'Create and cancel transfers',
  'webhooks:read': 'Read endpoints, events and deliveries',
  'webhooks:write': 'Register and change endpoints, retry and recover deliveries',
  'operator:transfers': 'Only /operator/transfers…',
  'operator:clients': 'Only /operator/clients…',
  operator: 'Only /operator/…, all of it',
};

const IdempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes the request safe to repeat. A new random text for each new request (in Postman, `{{$guid}}`), at most 255 ASCII characters, quoted (RFC 8941) or unquoted.',
  // No example: tools would send the same key with every request.
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const IfMatch = {
  name: 'If-Match',
  in: 'header',
  description:
    'The `ETag` of the state that you read: any other state is not changed (412). A list is allowed; `*` matches any.',
  schema: { type: 'string' },
};

const PARAMETERS = { IdempotencyKey, IfMatch };

const HEADERS = {
  'X-Request-Id': header("The request's id: the id that you sent, or a new one."),
  'RateLimit-Policy': header(
    'The requests that a client may make per second (draft-ietf-httpapi-ratelimit-headers-11). The next two seconds may use what one leaves.',
  ),
  RateLimit: header('The remaining requests; a request rejected for its size counts as five.'),
  'Retry-After': header('Seconds to wait before the next request.'),
  'WWW-Authenticate': header('The missing token or scope (RFC 6750).'),
  // Not a parameter of each GET: generated clients would ask for it.
  ETag: header(
    'Identifies this state: any change gives a new tag. As `If-None-Match` of a GET, it gets 304 while current.',
  ),
  Location: header('The URL of what the request made, if it has one.'),
  Link: header('`rel="next"`: the next page, if there is one.'),
};

function header(description: string) {
  return { description, schema: { type: 'string' } };
}

/** The OpenAPI operation of a route. */
function describeOperation(route: Route): Json {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description ? `${route.description}\n\n` : ''}${scopeSentence(route)}`,
    security: route.scopes.map((scope) => ({ [isOperators(scope) ? 'operator' : 'oauth2']: [scope] })),
    parameters: parametersOf(route),
    ...(route.body && { requestBody: requestBodyOf(route.body) }),
    responses: {
      ...(route.earlier && { 200: earlierOf(route) }),
      [route.status]: responseOf(route),
      ...(isConditional(route) && { 304: { description: STATUS_CODES[304], headers: headerRefs(['ETag']) } }),
      ...problemResponses(refusalsOf(route)),
    },
  };
}

function scopeSentence(route: Route): string {
  const scopes = route.scopes.map((scope) => `\`${scope}\``);
  return scopes.length === 1 ? `Scope: ${scopes[0]}.` : `Scope: any of ${scopes.join(', ')}.`;
}

function parametersOf(route: Route): Json[] {
  const inPath = [...route.path.matchAll(/{(\w+)}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: name === 'number' ? { type: 'integer', format: 'int64', minimum: 1 } : { type: 'string', format: 'uuid' },
  }));
  const inQuery = Object.entries(queryOf(route)).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description && { description }),
    schema,
  }));
  const names: (keyof typeof PARAMETERS | false | undefined)[] = [
    isKeyed(route) && 'IdempotencyKey',
    route.version && 'IfMatch',
  ];
  const inHeaders = names.flatMap((name) => (name ? [{ $ref: `#/components/parameters/${name}` }] : []));
  return [...inPath, ...inQuery, ...inHeaders];
}

const isConditional = ({ tagged, method }: Route) => tagged && method === 'GET';

function queryOf(route: Route) {
  const { properties = {} } = z.toJSONSchema(route.query, { io: 'input' });
  return properties as Record<string, z.core.JSONSchema.JSONSchema>;
}

function responseOf(route: Route): Json {
  const limits = hasOperatorScope(route.scopes) ? [] : ['RateLimit-Policy', 'RateLimit'];
  const makes = route.status === 201 || route.status === 202 ? ['Location'] : [];
  const isList = 'cursor' in queryOf(route) ? ['Link'] : [];
  return {
    description: STATUS_CODES[route.status],
    headers: headerRefs(['X-Request-Id', ...limits, ...makes, ...isList, ...(route.tagged ? ['ETag'] : [])]),
    ...(route.returns && jsonContent(route.returns)),
  };
}

const earlierOf = (route: Route): Json => ({
  ...responseOf(route),
  description: 'What an earlier request with the same `Idempotency-Key` made, as it is now, more than 24 hours later.',
});

/** Every problem code that the operation may respond with. */
function refusalsOf(route: Route): RefusalCode[] {
  const readsBody = route.method !== 'GET';
  return [
    'malformed_request',
    'unauthorized',
    'invalid_token',
    'insufficient_scope',
    'network_not_allowed',
    ...(route.path.includes('{') ? (['not_found'] as const) : []),
    ...(readsBody ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    'invalid_request',
    'too_many_parameters',
    ...(isKeyed(route) ? (['idempotency_key_in_use', 'idempotency_key_reused'] as const) : []),
    ...(route.idempotencyKey === 'rejected' ? (['idempotency_key_not_supported'] as const) : []),
    ...(route.version ? (['changed_meanwhile'] as const) : []),
    ...(route.refusals ?? []),
    ...(hasOperatorScope(route.scopes) ? [] : (['rate_limited'] as const)),
    'internal_error',
    'unavailable',
  ];
}
