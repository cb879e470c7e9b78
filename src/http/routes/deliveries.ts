import { z } from 'zod';
import { SHOWN_ATTEMPTS } from '../../attempts.js';
import { byOf } from '../../auth/caller.js';
import { DeliveryStatus } from '../../database/generated/enums.js';
import type { PlannedRetry } from '../../webhooks/delivery-actions.js';
import { getEndpoint } from '../../webhooks/endpoints.js';
import { listAttempts } from '../../webhooks/read-attempts.js';
import { getDelivery, getDeliveryWithAttempts, listDeliveries } from '../../webhooks/read-deliveries.js';
import type { PlannedRecover } from '../../webhooks/recovers.js';
import { type CursorKind, idCursor, numberCursor } from '../cursor.js';
import type { AppDependencies } from '../dependencies.js';
import { pageOf, paging, pagingBy, respondWithPage, respondWithPageBy } from '../paging.js';
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
export const deliveryFilters = (cursors: CursorKind<string>) =>
  z.strictObject({ status: z.enum(DeliveryStatus).optional(), ...paging(cursors) });
const deliveryCursors = idCursor("an endpoint's deliveries");

const attempts = pageView('AttemptPage', attemptView);
const attemptCursors = numberCursor('attempts');
const attemptFilters = z.strictObject(pagingBy(attemptCursors, { most: SHOWN_ATTEMPTS, usual: SHOWN_ATTEMPTS }));

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
      query: deliveryFilters(deliveryCursors),
      response: { status: 200, description: 'A page of the list, newest first.', schema: deliveries },
      async handle({ caller, params, query, db, ...request }) {
        const { id: endpointId } = await getEndpoint(db, caller.clientId, params.webhookId);
        const of = { endpointId };
        const rows = await listDeliveries(db, caller.clientId, { of, status: query.status, ...pageOf(query) });
        return respondWithPage(deliveryCursors, rows, query.limit, presentDelivery, {
          ...request,
          baseUrl: config.baseUrl,
        });
      },
    }),
    route({
      method: 'GET',
      path: '/deliveries/{id}',
      operationId: 'getDelivery',
      tag,
      summary: 'Read a delivery',
      scope: 'webhooks:read',
      response: {
        status: 200,
        description: 'The delivery with its latest attempts and those that are planned.',
        schema: deliveryWithAttemptsView,
      },
      async handle({ caller, params, db }) {
        const delivery = await getDeliveryWithAttempts(db, caller.clientId, params.id, config.retryDelays);
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
      response: { status: 200, description: 'A page of the list, newest first.', schema: attempts },
      async handle({ caller, params, query, db, ...request }) {
        const { id } = await getDelivery(db, caller.clientId, params.id);
        const rows = await listAttempts(db, id, pageOf(query));
        const cursorAfter = ({ number }: { number: number }) => attemptCursors.write(number);
        return respondWithPageBy(cursorAfter, rows, query.limit, presentAttempt, {
          ...request,
          baseUrl: config.baseUrl,
        });
      },
    }),
    twoStepRoute({
      method: 'POST',
      path: '/deliveries/{id}/retry',
      operationId: 'retryDelivery',
      tag,
      summary: 'Retry a delivery now',
      description:
        'If the delivery waits for its next attempt, that attempt is made now. If the delivery has ended, one new attempt is made. A delivery can be retried at most 10 times an hour.',
      scope: 'webhooks:write',
      response: {
        status: 202,
        description: 'The retry has started; the delivery in its current state.',
        schema: deliveryView,
      },
      refusals: ['endpoint_not_active', 'retry_limit_reached'],
      plan: ({ caller, params, db }, earlier: PlannedRetry | undefined) =>
        deliveryActions.retry.plan(db, { by: byOf(caller), clientId: caller.clientId, deliveryId: params.id }, earlier),
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
      summary: 'Recover missed deliveries',
      description:
        'Starts every failed or cancelled delivery of the events created in [`since`, `until`) again, at a bounded rate. One recover may run for an endpoint and two for a client; an endpoint can be recovered at most ten times an hour. With `include_missing`, every event of the range without a delivery for this endpoint gets one too. The count is limited as statements are. If there is nothing to recover, both numbers of the response are 0 and no recover starts.',
      scope: 'webhooks:write',
      body: recoverRequest,
      response: { status: 202, description: 'The recover has started.', schema: recovered },
      refusals: [
        'endpoint_not_active',
        'cancellation_in_progress',
        'recover_in_progress',
        'recover_limit_reached',
        'statement_limit_reached',
      ],
      plan({ caller, params, body, db }, earlier: PlannedRecover | undefined) {
        const { since, until = Date.now(), include_missing: includeMissing } = body;
        const range = { by: byOf(caller), clientId: caller.clientId, endpointId: params.webhookId, since, until };
        return deliveryActions.recover.plan(db, { ...range, includeMissing }, earlier);
      },
      async carryOut(database, plan) {
        return { status: 202, body: await deliveryActions.recover.carryOut(database, plan) };
      },
    }),
  ];
}
