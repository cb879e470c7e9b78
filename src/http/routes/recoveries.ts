import { z } from 'zod';
import { byOf } from '../../auth/caller.js';
import { getEndpoint } from '../../endpoints/endpoints.js';
import { inCountingTurn, refuseTooLong } from '../../endpoints/window.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { cancelRecovery, getRecovery, listRecoveries } from '../../recoveries/recoveries.js';
import { recoverEndpoint } from '../../recoveries/start-recovery.js';
import type { AppDependencies } from '../context.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { created } from '../response.js';
import { routesOf } from '../route.js';
import { presentRecovery, recovered, recoverRequest, recoveryView } from '../schemas/recovery.js';

const recoveries = pageView('RecoveryPage', recoveryView);
const cursors = idCursor("an endpoint's recoveries");
const filters = z.strictObject(paging(cursors));

/** `/webhook-endpoints/{webhookId}/recover` and `/recoveries`. */
export function recoveryRoutes({ config }: AppDependencies) {
  const route = routesOf('Events and deliveries', 'webhooks');
  return [
    route('POST', '/webhook-endpoints/{webhookId}/recover', {
      operationId: 'recoverWebhookEndpoint',
      summary: 'Recover missed deliveries',
      description: `Restarts every failed or cancelled delivery of events created in [\`since\`, \`until\`), at a bounded rate. With \`include_missing\`, events in the range that have no delivery for this endpoint get one too. With \`include_pending\`, pending deliveries that wait for their next planned attempt start again at once. One recovery can run for an endpoint. Limit: ${describeLimit(LIMITS.recoveriesAtOnce)}; ${describeLimit(LIMITS.recoveries)}. Counting is limited like statements. If there is nothing to recover, all numbers are 0 and no recovery starts.`,
      body: recoverRequest,
      status: 202,
      returns: recovered,
      refusals: [
        'endpoint_not_active',
        'cancellation_in_progress',
        'recover_in_progress',
        'recover_limit_reached',
        'statement_limit_reached',
      ],
      isAudited: true,
      around: inCountingTurn,
      async handle({ caller, params: { webhookId: endpointId }, body: asked, db }) {
        const { since, until, include_missing: includeMissing, include_pending: includePending } = asked;
        const { clientId } = caller;
        if (includeMissing) await refuseTooLong(db, { since, until }, { pointer: '/since' });
        const included = { includeMissing, includePending };
        const request = { by: byOf(caller), clientId, endpointId, since, until, ...included, countedFor: clientId };
        const body = await recoverEndpoint(db, request);
        const url = `${config.baseUrl}/webhook-endpoints/${endpointId}/recoveries/${body.id}`;
        return body.id === null ? body : created(url, body);
      },
    }),
    route('GET', '/webhook-endpoints/{webhookId}/recoveries', {
      operationId: 'listRecoveries',
      summary: "List an endpoint's recoveries",
      query: filters,
      returns: recoveries,
      async handle(request) {
        const { caller, params, query, db } = request;
        const { id: endpointId } = await getEndpoint(db, caller.clientId, params.webhookId);
        return respondWithPage(request, cursors, await listRecoveries(db, endpointId, pageOf(query)), presentRecovery);
      },
    }),
    route('GET', '/webhook-endpoints/{webhookId}/recoveries/{id}', {
      operationId: 'getRecovery',
      summary: 'Read a recovery and its progress',
      returns: recoveryView,
      async handle({ caller: { clientId }, params: { webhookId, id }, db }) {
        const { id: endpointId } = await getEndpoint(db, clientId, webhookId);
        return presentRecovery(await getRecovery(db, { endpointId, id }));
      },
    }),
    route('POST', '/webhook-endpoints/{webhookId}/recoveries/{id}/cancel', {
      operationId: 'cancelRecovery',
      summary: 'Cancel a recovery',
      description: 'The recovery queues nothing more. Deliveries that it has queued continue.',
      returns: recoveryView,
      refusals: ['recovery_ended'],
      isAudited: true,
      async handle({ caller, params: { webhookId, id }, db }) {
        const { id: endpointId } = await getEndpoint(db, caller.clientId, webhookId);
        return presentRecovery(await cancelRecovery(db, { by: byOf(caller), endpointId, id }));
      },
    }),
  ];
}
