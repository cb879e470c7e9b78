import type { RefusalCode } from '../../refusal.js';
import { PROBLEMS } from '../problem.js';
import { isKeyed, mediaTypesOf, type Route, scopesOf } from '../route.js';
import { exampleOf, type JsonSchema } from './example.js';
import { inlineSchema, schemaFor } from './schemas.js';

type Json = Record<string, unknown>;

const HEADERS = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit'] as const;

/** Headers that only responses with this status have. */
const HEADERS_OF: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

const headerRef = (name: string) => ({ $ref: `#/components/headers/${name}` });

/** The OpenAPI operation of a route. */
export function describeOperation(route: Route, schemas: Record<string, JsonSchema>): Json {
  const body = route.body && schemaFor(route.body);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description ? `${route.description}\n\n` : ''}${scopeSentence(route)}`,
    security: scopesOf(route).map((scope) => ({ oauth2: [scope] })),
    parameters: parametersOf(route),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          mediaTypesOf(route.method).map((type) => [type, { schema: body, example: exampleOf(body, schemas) }]),
        ),
      },
    }),
    responses: { [route.response.status]: responseOf(route, schemas), ...problemsOf(route) },
  };
}

function scopeSentence(route: Route): string {
  const scopes = scopesOf(route).map((scope) => `\`${scope}\``);
  return scopes.length === 1 ? `Scope: ${scopes[0]}.` : `Scope: any of ${scopes.join(', ')}.`;
}

function parametersOf(route: Route): Json[] {
  const inPath = [...route.path.matchAll(/{(\w+)}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: name === 'number' ? { type: 'integer', minimum: 1 } : { type: 'string', format: 'uuid' },
  }));
  const { properties = {}, required = [] } = inlineSchema(route.query);
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    ...(description && { description }),
    schema,
  }));
  const keyed = isKeyed(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : [];
  return [...inPath, ...inQuery, ...keyed];
}

function responseOf(route: Route, schemas: Record<string, JsonSchema>): Json {
  const { description, schema, headers = {} } = route.response;
  const own = Object.entries(headers).map(([name, meaning]) => [
    name,
    { description: meaning, schema: { type: 'string' } },
  ]);
  const named = [...HEADERS, ...(isList(route) ? ['Link'] : [])].filter(
    (name) => route.scope !== 'operator' || !name.startsWith('RateLimit'),
  );
  const json = schema && schemaFor(schema);
  return {
    description,
    headers: {
      ...Object.fromEntries(named.map((name) => [name, headerRef(name)])),
      ...Object.fromEntries(own),
    },
    ...(json && { content: { 'application/json': { schema: json, example: exampleOf(json, schemas) } } }),
  };
}

function isList(route: Route): boolean {
  return 'cursor' in (inlineSchema(route.query).properties ?? {});
}

/** Every problem code that the operation may respond with. */
export function refusalsOf(route: Route): RefusalCode[] {
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
    ...(route.refusals ?? []),
    ...(route.scope === 'operator' ? [] : (['rate_limited'] as const)),
    'internal_error',
    'unavailable',
  ];
}

/** One response for each status, with an example for each code that has the status. */
function problemsOf(route: Route): Json {
  const byStatus = new Map<number, RefusalCode[]>();
  for (const code of refusalsOf(route)) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\``).join(', '),
        headers: {
          'X-Request-Id': headerRef('X-Request-Id'),
          ...Object.fromEntries((HEADERS_OF[status] ?? []).map((name) => [name, headerRef(name)])),
        },
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
