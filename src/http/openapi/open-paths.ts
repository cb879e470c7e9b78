import { DOCUMENTS_PER_SECOND } from '../middleware/document-limit.js';

type Json = Record<string, unknown>;

const ready = (checks: object) => ({
  type: 'object',
  properties: { status: { type: 'string' }, ...checks },
  required: ['status'],
});
const word = { type: 'string' };
const CHECKS = {
  checks: {
    type: 'object',
    properties: { postgres: word, migrations: word, temporal: word },
    required: ['postgres', 'migrations', 'temporal'],
  },
};

const LIMITED = {
  '429': problem(
    `\`rate_limited\`: an address may read ${DOCUMENTS_PER_SECOND} documents a second; see \`Retry-After\`.`,
  ),
};
const UNCHANGED = {
  '304': { description: 'The document still has the ETag that `If-None-Match` names.' },
  ...LIMITED,
};

/** What needs no token: health and this documentation. */
export const openPaths: Record<string, Record<string, Json>> = {
  '/healthz': open('getHealth', 'Alive', answer('Alive.', 'application/json', ready({}), { status: 'ok' })),
  '/readyz': open(
    'getReadiness',
    'Ready to serve',
    answer('Ready.', 'application/json', ready(CHECKS), {
      status: 'ready',
      checks: { postgres: 'ok', migrations: 'ok', temporal: 'ok' },
    }),
    { '503': { ...problem('`unavailable`, with `checks`.') } },
  ),
  '/meta': open(
    'getMeta',
    'What this environment is',
    answer('The same for every caller.', 'application/json', { $ref: '#/components/schemas/Meta' }),
    LIMITED,
  ),
  '/openapi.json': open(
    'getOpenApi',
    'This document',
    answer('OpenAPI 3.1.', 'application/json', { type: 'object' }),
    UNCHANGED,
  ),
  '/docs': open('getDocs', 'This document, for reading', answer('A page.', 'text/html', { type: 'string' }), UNCHANGED),
};

function open(operationId: string, summary: string, success: Json, others: Json = {}): Record<string, Json> {
  const refused = problem('`network_not_allowed`');
  return {
    get: {
      operationId,
      tags: ['Health'],
      summary,
      security: [],
      responses: { '200': success, '403': refused, ...others },
    },
  };
}

function answer(description: string, type: string, schema: Json, example?: Json): Json {
  return { description, content: { [type]: { schema, ...(example && { example }) } } };
}

function problem(description: string): Json {
  return answer(description, 'application/problem+json', { $ref: '#/components/schemas/Problem' });
}
