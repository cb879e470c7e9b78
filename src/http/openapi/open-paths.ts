import { DOCUMENTS_PER_SECOND } from '../middleware/document-limit.js';

type Json = Record<string, unknown>;

const status = (checks: object) => ({
  type: 'object',
  properties: { status: { type: 'string' }, ...checks },
  required: ['status'],
});
const text = { type: 'string' };
const CHECKS = {
  checks: {
    type: 'object',
    properties: { postgres: text, migrations: text, temporal: text },
    required: ['postgres', 'migrations', 'temporal'],
  },
};

const LIMITED = {
  '429': problem(
    `\`rate_limited\`: an address may read at most ${DOCUMENTS_PER_SECOND} documents a second; see \`Retry-After\`.`,
  ),
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
    response('The process is alive.', 'application/json', status({}), { status: 'ok' }),
  ),
  '/readyz': open(
    'getReadiness',
    'Check that the process can serve requests',
    response('The process can serve requests.', 'application/json', status(CHECKS), {
      status: 'ready',
      checks: { postgres: 'ok', migrations: 'ok', temporal: 'ok' },
    }),
    { '503': problem('`unavailable`: `checks` names the dependency that is down.', 'NotReady') },
  ),
  '/meta': open(
    'getMeta',
    'Read the metadata of this environment',
    response('The metadata, the same for every caller.', 'application/json', { $ref: '#/components/schemas/Meta' }),
    LIMITED,
  ),
  '/openapi.json': open(
    'getOpenApi',
    'This document',
    response('The OpenAPI 3.1 document.', 'application/json', { type: 'object' }),
    UNCHANGED,
  ),
  '/docs': open(
    'getDocs',
    'This document as an API explorer; without script the plain page',
    response('The page.', 'text/html', { type: 'string' }),
    UNCHANGED,
  ),
  '/docs/plain': open(
    'getPlainDocs',
    'This document as a page without script, with the table of problem codes',
    response('The page.', 'text/html', { type: 'string' }),
    UNCHANGED,
  ),
};

function open(operationId: string, summary: string, success: Json, others: Json = {}): Record<string, Json> {
  const refused = problem('`network_not_allowed`');
  return {
    get: {
      operationId,
      tags: ['Health'],
      summary,
      security: [],
      responses: {
        '200': success,
        '403': refused,
        '500': problem('`internal_error`'),
        '503': problem('`unavailable`'),
        ...others,
      },
    },
  };
}

function response(description: string, type: string, schema: Json, example?: Json): Json {
  return { description, content: { [type]: { schema, ...(example && { example }) } } };
}

function problem(description: string, schema = 'Problem'): Json {
  return response(description, 'application/problem+json', { $ref: `#/components/schemas/${schema}` });
}
