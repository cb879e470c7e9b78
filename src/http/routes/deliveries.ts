import { z } from 'zod';
import { DeliveryStatus } from '../../database/generated/enums.js';
import type { PlannedRetry } from '../../webhooks/delivery-actions.js';
import { getEndpoint } from '../../webhooks/endpoints.js';
import { listAttempts } from '../../webhooks/read-attempts.js';
import {
  getDelivery,
  getDeliveryWithAttempts,
  listDeliveries,
  SHOWN_ATTEMPTS,
} from '../../webhooks/read-deliveries.js';
import type { PlannedRecover } from '../../webhooks/recovers.js';
import { numberCursor } from '../cursor.js';
import type { AppDependencies } from '../dependencies.js';
import { answerPageBy, pageOf, paging, pagingBy, respondWithPage } from '../paging.js';
import {
  attemptView,
  deliveryView,
  deliveryWithAttemptsView,
  presentAttempt,
  presentDelivery,
  presentDeliveryWithAttempts,
} from '../presenters/delivery.js';
import { pageView } from '../presenters/page.js';
import { route, twoStepRoute } from '../route.js';
import { recovered, recoverRequest } from '../schemas/recover.js';

export const deliveries = pageView('DeliveryPage', deliveryView);
export const deliveryFilters = z.strictObject({ status: z.enum(DeliveryStatus).optional(), ...paging });

const attempts = pageView('AttemptPage', attemptView);
const attemptFilters = z.strictObject(pagingBy(numberCursor, { most: SHOWN_ATTEMPTS, usual: SHOWN_ATTEMPTS }));

/** `/deliveries`, and the deliveries of one endpoint (contract, Events and deliveries). */
export function deliveryRoutes({ config, deliveryActions }: AppDependencies) {
  const tag = 'Events and deliveries';
  return [
    route({
      method: 'GET',
      path: '/webhook-endpoints/{webhookId}/deliveries',
      operationId: 'listEndpointDeliveries',
      tag,
      summary: "List an endpoint's deliveries",
      scope: 'webhooks:read',
      query: deliveryFilters,
      answer: { status: 200, description: 'A page, newest first.', schema: deliveries },
      async handle({ caller, params, query, db, ...request }) {
        const { id: endpointId } = await getEndpoint(db, caller.clientId, params.webhookId);
        const of = { endpointId };
        const rows = await listDeliveries(db, caller.clientId, { of, status: query.status, ...pageOf(query) });
        return respondWithPage(rows, query.limit, presentDelivery, { ...request, baseUrl: config.baseUrl });
      },
    }),
    route({
      method: 'GET',
      path: '/deliveries/{id}',
      operationId: 'getDelivery',
      tag,
      summary: 'Read a delivery',
      scope: 'webhooks:read',
      answer: { status: 200, description: 'The delivery with its latest attempts.', schema: deliveryWithAttemptsView },
      async handle({ caller, params, db }) {
        const delivery = await getDeliveryWithAttempts(db, caller.clientId, params.id);
        return { status: 200, body: presentDeliveryWithAttempts(delivery) };
      },
    }),
    route({
      method: 'GET',
      path: '/deliveries/{id}/attempts',
      operationId: 'listAttempts',
      tag,
      summary: "List a delivery's attempts",
      scope: 'webhooks:read',
      query: attemptFilters,
      answer: { status: 200, description: 'A page, newest first.', schema: attempts },
      async handle({ caller, params, query, db, ...request }) {
        const { id } = await getDelivery(db, caller.clientId, params.id);
        const rows = await listAttempts(db, id, pageOf(query));
        const cursorAfter = ({ number }: { number: number }) => numberCursor.write(number);
        return answerPageBy(cursorAfter, rows, query.limit, presentAttempt, { ...request, baseUrl: config.baseUrl });
      },
    }),
    twoStepRoute({
      method: 'POST',
      path: '/deliveries/{id}/retry',
      operationId: 'retryDelivery',
      tag,
      summary: 'Retry a delivery now',
      description:
        'Wakes one that waits for its next attempt, which uses that attempt up; makes one new attempt at one that has ended. At most 10 times an hour for a delivery.',
      scope: 'webhooks:write',
      answer: { status: 202, description: 'Under way; the delivery as it stands.', schema: deliveryView },
      refusals: ['endpoint_not_active', 'retry_limit_reached'],
      plan: ({ caller, params, db }, earlier: PlannedRetry | undefined) =>
        deliveryActions.retry.plan(db, { clientId: caller.clientId, deliveryId: params.id }, earlier),
      async carryOut(database, plan) {
        await deliveryActions.retry.carryOut(database, plan);
        return { status: 202, body: presentDelivery(await getDelivery(database, plan.clientId, plan.deliveryId)) };
      },
    }),
    twoStepRoute({
      method: 'POST',
      path: '/webhook-endpoints/{webhookId}/recover',
      operationId: 'recoverWebhookEndpoint',
      tag,
      summary: 'Deliver again what was missed',
      description:
        'Every failed or cancelled delivery of events made in [since, until) starts again, at a bounded pace. One runs for an endpoint and two for a client, ten an hour for an endpoint. Where there is nothing to recover, nothing starts.',
      scope: 'webhooks:write',
      body: recoverRequest,
      answer: { status: 202, description: 'Under way.', schema: recovered },
      refusals: ['endpoint_not_active', 'recover_in_progress', 'recover_limit_reached'],
      plan({ caller, params, body: { since, until = Date.now() }, db }, earlier: PlannedRecover | undefined) {
        const { clientId } = caller;
        return deliveryActions.recover.plan(db, { clientId, endpointId: params.webhookId, since, until }, earlier);
      },
      async carryOut(database, plan) {
        return { status: 202, body: { count: await deliveryActions.recover.carryOut(database, plan) } };
      },
    }),
  ];
}
