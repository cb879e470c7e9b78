import { SCOPES, type Scope } from '../../auth/caller.js';
import { EXAMPLE_ID } from '../../ids.js';
import { Refusal, type RefusalCode } from '../../refusal.js';
import { PROBLEMS, toProblem } from '../problem.js';
import type { Route } from '../route.js';
import { deliveryWebhooks } from './delivery-webhook.js';
import type { JsonSchema } from './example.js';
import { openPaths } from './open-paths.js';
import { describeOperation, refusalsOf } from './operation.js';
import { componentSchemas, referencedSchemas } from './schemas.js';
import { tokenPaths } from './token-paths.js';

type Json = Record<string, unknown>;

export interface OpenApiDocument extends Json {
  info: Json & { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Json>>;
  components: Json & {
    schemas: Record<string, JsonSchema>;
    securitySchemes: { oauth2: Json & { flows: { clientCredentials: Json & { scopes: Record<Scope, string> } } } };
  };
}

/** The environment that the document describes. */
export interface Described {
  environment: 'sandbox' | 'production';
  baseUrl: string;
  authUrl: string;
  /** The delays of the ladder, ms. */
  retryDelays: readonly number[];
}

/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
export function openApiDocument(
  routes: readonly Route[],
  { environment, baseUrl, authUrl, retryDelays }: Described,
): OpenApiDocument {
  const schemas = componentSchemas();
  const paths: OpenApiDocument['paths'] = { ...tokenPaths(authUrl), ...openPaths };
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeOperation(route, schemas) };
  }
  const webhooks = deliveryWebhooks(retryDelays);
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
    webhooks,
    components: {
      // The sandbox's own schemas are not those of production.
      schemas: referencedSchemas(schemas, [paths, webhooks]),
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

const DESCRIPTION = `Creates transfers and notifies your system of every status change by a signed webhook.

Identifiers are UUIDs. Times are ISO 8601 in UTC with \`Z\`; only an event's \`created_at\` has no zone designator, and it is UTC too. Bodies are JSON in UTF-8. Unknown fields and parameters are refused.

Lists are paginated, newest first. \`Link: rel="next"\` and \`next_cursor\` lead to the next page. A response is at most 1 MB: a page that would be larger has fewer items, with \`has_more\` true.

A query has at most 20 parameters. A body has at most 64 KiB, 100 members and 16 levels. A request that is refused for its size counts as five requests. Characters are counted as Unicode code points.

Every POST but \`/console-sessions\` accepts an \`Idempotency-Key\`. A repeat of the request within 24 hours with the same key and body gets the first response again, with \`Idempotency-Replayed: true\`.`;

const TOKEN =
  'OAuth 2.0 client credentials. The token request also needs `audience`, the base URL of this API. Send the token as `Authorization: Bearer …`.';

const TAGS = [
  { name: 'Tokens', description: 'Access tokens (OAuth 2.0 client credentials).' },
  { name: 'Webhook endpoints', description: 'The URLs that receive your events.' },
  { name: 'Transfers', description: 'Create, read and cancel transfers.' },
  {
    name: 'Events and deliveries',
    description: 'The events of your transfers, and the delivery of each event to each endpoint.',
  },
  {
    name: 'Sandbox',
    description:
      'Change the status of your own transfers, as the operator would, and check your receivers; sandbox only.',
  },
  { name: 'Console', description: 'The web pages for the people of a client, at `/console`.' },
  { name: 'Operator', description: "For the operator's systems." },
  { name: 'Health', description: 'Probes of the service and this documentation.' },
];

const SCOPE_MEANINGS: Record<Scope, string> = {
  'transfers:read': 'Read transfers',
  'transfers:write': 'Create and cancel transfers',
  'webhooks:read': 'Read endpoints, events and deliveries',
  'webhooks:write': 'Register and change endpoints, retry and recover deliveries',
  operator: `Only /operator/…; clients get only the ${SCOPES.length - 1} other scopes`,
};

const IdempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Makes a repeat of the request safe. At most 255 ASCII characters, quoted (RFC 8941) or unquoted.',
  schema: { type: 'string', minLength: 1 },
  example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
};

const HEADERS = {
  'X-Request-Id': header("The request's id: the id that you sent, or a new one."),
  'RateLimit-Policy': header(
    'The requests that a client may make per second (draft-ietf-httpapi-ratelimit-headers-11).',
  ),
  RateLimit: header('The remaining requests; a request that is refused for its size counts as five.'),
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
