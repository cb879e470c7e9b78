import { readStatement } from '../../webhooks/statement.js';
import { STATEMENTS_A_MINUTE } from '../../webhooks/statement-limit.js';
import { MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import type { AppDependencies } from '../dependencies.js';
import { presentStatement, statementView } from '../presenters/statement.js';
import { route } from '../route.js';
import { statementWindow } from '../schemas/statement.js';

/** `/webhook-endpoints/{webhookId}/statement` (contract, Events and deliveries). */
export function statementRoute({ config: { retention } }: AppDependencies) {
  return route({
    method: 'GET',
    path: '/webhook-endpoints/{webhookId}/statement',
    operationId: 'getWebhookEndpointStatement',
    tag: 'Events and deliveries',
    summary: "Read an endpoint's statement",
    description: `Counts what became of every event of a window at this endpoint, which proves that it has everything. A window is at most ${MAX_WINDOW_DAYS} days. Statements are made one at a time and at most ${STATEMENTS_A_MINUTE} a minute for a client.`,
    scope: 'webhooks:read',
    query: statementWindow,
    response: { status: 200, description: 'The statement.', schema: statementView },
    refusals: ['outside_retention', 'statement_limit_reached'],
    async handle({ caller, params, query: { since, until }, db }) {
      const request = { clientId: caller.clientId, endpointId: params.webhookId, since, until, retention };
      return { status: 200, body: presentStatement(await readStatement(db, request)) };
    },
  });
}
