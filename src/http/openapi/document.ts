import { SCOPES, type Scope } from '../../auth/caller.js';
import { Refusal, type RefusalCode } from '../../refusal.js';
import { PROBLEMS, toProblem } from '../problem.js';
import type { Route } from '../route.js';
import { deliveryWebhooks } from './delivery-webhook.js';
import type { JsonSchema } from './example.js';
import { openPaths } from './open-paths.js';
import { describeOperation, refusalsOf } from './operation.js';
import { componentSchemas } from './schemas.js';
import { tokenPaths } from './token-paths.js';

type Json = Record<string, unknown>;

export interface OpenApiDocument extends Json {
  info: Json & { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Json>>;
  components: Json & { schemas: Record<string, JsonSchema> };
}

/** The environment that a document describes. */
export interface Described {
  environment: 'sandbox' | 'production';
  baseUrl: string;
  authUrl: string;
  /** The ladder, ms. */
  retryDelays: readonly number[];
}

/** The OpenAPI 3.1 document, made from the very schemas that requests are checked with. */
export function openApiDocument(
  routes: readonly Route[],
  { environment, baseUrl, authUrl, retryDelays }: Described,
): OpenApiDocument {
  const schemas = componentSchemas();
  const paths: OpenApiDocument['paths'] = { ...tokenPaths(authUrl), ...openPaths };
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Transfer Service',
      version: '1.0.0',
      summary: `The ${environment} environment`,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl, description: environment }],
    tags: TAGS.filter(({ name }) => name !== 'Sandbox' || environment === 'sandbox'),
    paths,
    webhooks: deliveryWebhooks(retryDelays),
    components: {
      schemas,
      parameters: { IdempotencyKey },
      headers: HEADERS,
      examples: Object.fromEntries(
        [...new Set(routes.flatMap(refusalsOf))].map((code) => [code, problemExample(code, baseUrl)]),
      ),
      securitySchemes: {
        oauth2: {
          type: 'oauth2',
          description: TOKEN,
          flows: { clientCredentials: { tokenUrl: `${authUrl}/oauth/token`, scopes: SCOPE_MEANINGS } },
        },
      },
    },
  };
}

const DESCRIPTION = `Moves transfers, and tells your system of every change of status by a signed webhook.

Identifiers are UUIDs, times are ISO 8601 in UTC with \`Z\` (but for an event's \`created_at\`, which has no zone designator and is UTC), bodies are JSON in UTF-8.
Lists come newest first in pages; \`Link: rel="next"\` and \`next_cursor\` lead on. Unknown fields and parameters are refused. No answer is larger than 1 MB: a page ends early, with \`has_more\`.
A query has at most 20 parameters, a body 64 KiB, 100 members and 16 levels. What is refused for its size counts as five requests.
Every POST takes an \`Idempotency-Key\`: repeated within 24 hours with the same body it gets the first answer again, with \`Idempotency-Replayed: true\`.
Characters are counted as Unicode code points.`;

const TOKEN =
  'OAuth 2.0 client credentials. The token request also carries `audience`: the base address of this API. Send the token as `Authorization: Bearer …`.';

const TAGS = [
  { name: 'Tokens', description: 'Access tokens (OAuth 2.0 client credentials).' },
  { name: 'Webhook endpoints', description: 'Where your system is told of changes.' },
  { name: 'Transfers', description: 'The transfers themselves.' },
  { name: 'Events and deliveries', description: 'What happened, and who was told with what outcome.' },
  { name: 'Sandbox', description: 'Play the operator; sandbox only.' },
  { name: 'Operator', description: "For the operator's own systems." },
  { name: 'Health', description: 'For whoever runs the service.' },
];

const SCOPE_MEANINGS: Record<Scope, string> = {
  'transfers:read': 'Read transfers',
  'transfers:write': 'Create and cancel transfers',
  'webhooks:read': 'Read endpoints, events and deliveries',
  'webhooks:write': 'Change endpoints, retry and recover deliveries',
  operator: `Only /operator/…; not given to clients (${SCOPES.length - 1} others are)`,
};

const IdempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Makes repeating the request safe; quoted (RFC 8941) or bare.',
  schema: { type: 'string', minLength: 1 },
  example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
};

const HEADERS = {
  'X-Request-Id': header("The request's id: yours, or one that was made."),
  'RateLimit-Policy': header('Requests a second that a client may make (draft-ietf-httpapi-ratelimit-headers-11).'),
  RateLimit: header('What is left of them; a request that is refused for its size counts as five.'),
  'Retry-After': header('Seconds to wait before asking again.'),
  'WWW-Authenticate': header('What is missing (RFC 6750).'),
  Link: header('`rel="next"`: the next page, where there is one.'),
};

function header(description: string) {
  return { description, schema: { type: 'string' } };
}

function problemExample(code: RefusalCode, baseUrl: string) {
  const { title, meaning } = PROBLEMS[code];
  const where = { baseUrl, path: '/transfers', requestId: '019abe01-7a10-7c44-9d02-3f1f6f0c8a11' };
  const value = toProblem(new Refusal(code, meaning), where);
  return { summary: title, value };
}
