import { hasOperatorScope, type Scope } from '../../auth/caller.js';
import type { Config } from '../../platform/config/config.js';
import { EXAMPLE_ID } from '../../platform/ids.js';
import { PROBLEMS, Refusal, type RefusalCode } from '../../platform/refusal.js';
import { VERSION } from '../../platform/version.js';
import { toProblem } from '../response.js';
import { isKeyed, type Route } from '../route.js';
import { deliveryCallbacks, FIXED_SCHEMAS, openPaths, tokenPaths } from './fixed-paths.js';
import { type JsonSchema, wholeNumber } from './json-schema.js';
import { componentSchemas, exampleOf, inlineSchema, referencedSchemas, schemaFor } from './schemas.js';

type Json = Record<string, unknown>;

/** The environment that the document describes. */
export type Described = Pick<Config, 'environment' | 'baseUrl' | 'authUrl' | 'retryDelays'>;

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
export function openApiDocument(routes: readonly Route[], { environment, baseUrl, authUrl, retryDelays }: Described) {
  const schemas: Record<string, JsonSchema> = { ...componentSchemas(), ...FIXED_SCHEMAS };
  const paths: Record<string, Record<string, Json>> = { ...tokenPaths(authUrl), ...openPaths };
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route, schemas) };
  }
  const registration = paths['/webhook-endpoints']?.post;
  if (registration) registration.callbacks = deliveryCallbacks(retryDelays);
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
    components: {
      // The sandbox's own schemas are not those of production.
      schemas: referencedSchemas(schemas, paths),
      parameters: { IdempotencyKey },
      headers: HEADERS,
      examples: Object.fromEntries(
        [...new Set(routes.flatMap(refusalsOf))].map((code) => [code, problemExample(code, baseUrl)]),
      ),
      securitySchemes: {
        oauth2: clientCredentials(TOKEN, authUrl, (scope) => !isOperators(scope)),
        // A client asks for every scope of a scheme, and no client has these beside the others.
        operator: clientCredentials(`For the operator's systems. ${TOKEN}`, authUrl, isOperators),
      },
    },
  };
}

const isOperators = (scope: string) => scope.startsWith('operator');

function clientCredentials(description: string, authUrl: string, has: (scope: string) => boolean) {
  const scopes = Object.fromEntries(Object.entries(SCOPE_MEANINGS).filter(([scope]) => has(scope)));
  const flows = { clientCredentials: { tokenUrl: `${authUrl}/oauth/token`, scopes } };
  return { type: 'oauth2', description, flows };
}

const DESCRIPTION = `Creates transfers and notifies your system of every status change by a signed webhook.

Identifiers are UUIDs. Times are ISO 8601 in UTC with \`Z\`; only an event's \`created_at\` has no zone designator, and it is UTC too. Bodies are JSON in UTF-8. Unknown fields and parameters are rejected.

Lists are paginated, newest first. \`Link: rel="next"\` and \`next_cursor\` lead to the next page. A response is at most 1 MB: a page that would be larger has fewer items, with \`has_more\` true.

A query has at most 20 parameters. A body has at most 64 KiB, 100 values in its objects and arrays together, and 16 levels. A request rejected for its size counts as five requests. Characters are counted as Unicode code points.

Every POST except \`/console-sessions\`, and those of \`/operator/clients\` whose response holds a secret or a link, accepts an \`Idempotency-Key\`. If you repeat the request within 24 hours with the same key and body, you get the first response again, with \`Idempotency-Replayed: true\`.`;

const TOKEN = 'OAuth 2.0 client credentials. Send the token as `Authorization: Bearer …`.';

const TAGS = {
  Tokens: 'Access tokens (OAuth 2.0 client credentials).',
  'Webhook endpoints': 'The URLs that receive your events.',
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

const HEADERS = {
  'X-Request-Id': header("The request's id: the id that you sent, or a new one."),
  'RateLimit-Policy': header(
    'The requests that a client may make per second (draft-ietf-httpapi-ratelimit-headers-11).',
  ),
  RateLimit: header('The remaining requests; a request rejected for its size counts as five.'),
  'Retry-After': header('Seconds to wait before the next request.'),
  'WWW-Authenticate': header('The missing token or scope (RFC 6750).'),
  Link: header('`rel="next"`: the next page, if there is one.'),
};

function header(description: string) {
  return { description, schema: { type: 'string' } };
}

function problemExample(code: RefusalCode, baseUrl: string) {
  const { title, meaning } = PROBLEMS[code];
  const where = { baseUrl, path: '/transfers', requestId: EXAMPLE_ID };
  const value = toProblem(new Refusal(code, meaning), where);
  return { summary: title, value };
}

/** Headers that only responses with this status have. */
const HEADERS_OF: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** The OpenAPI operation of a route. */
function describeOperation(route: Route, schemas: Record<string, JsonSchema>): Json {
  const body = route.body && schemaFor(route.body);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description ? `${route.description}\n\n` : ''}${scopeSentence(route)}`,
    security: route.scopes.map((scope) => ({ [isOperators(scope) ? 'operator' : 'oauth2']: [scope] })),
    parameters: parametersOf(route),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: body, example: exampleOf(body, schemas) } },
      },
    }),
    responses: { [route.response.status]: responseOf(route, schemas), ...problemsOf(route) },
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
  const { properties = {}, required = [] } = inlineSchema(route.query);
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    ...(description && { description }),
    schema: wholeNumber(schema),
  }));
  const keyed = isKeyed(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : [];
  return [...inPath, ...inQuery, ...keyed];
}

function responseOf(route: Route, schemas: Record<string, JsonSchema>): Json {
  const { description, schema, headers = {} } = route.response;
  const limits = hasOperatorScope(route.scopes) ? [] : ['RateLimit-Policy', 'RateLimit'];
  const isList = 'cursor' in (inlineSchema(route.query).properties ?? {});
  const own = Object.entries(headers).map(([name, meaning]) => [name, header(meaning)]);
  const json = schema && schemaFor(schema);
  return {
    description,
    headers: { ...headerRefs(['X-Request-Id', ...limits, ...(isList ? ['Link'] : [])]), ...Object.fromEntries(own) },
    ...(json && { content: { 'application/json': { schema: json, example: exampleOf(json, schemas) } } }),
  };
}

function headerRefs(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

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
    ...(route.refusals ?? []),
    ...(hasOperatorScope(route.scopes) ? [] : (['rate_limited'] as const)),
    'internal_error',
    'unavailable',
  ];
}

/** One response for each status, with an example for each code that has the status. */
function problemsOf(route: Route): Json {
  const byStatus = Map.groupBy(refusalsOf(route), (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\``).join(', '),
        headers: headerRefs(['X-Request-Id', ...(HEADERS_OF[status] ?? [])]),
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
          },
        },
      },
    ]),
  );
}
