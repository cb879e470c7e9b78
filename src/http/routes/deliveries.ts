import { z } from 'zod';
import { DeliveryStatus } from '../../database/generated/enums.js';
import { Refusal } from '../../refusal.js';
import { getEndpoint } from '../../webhooks/endpoints.js';
import { getDelivery, listDeliveries } from '../../webhooks/read-deliveries.js';
import type { AppDependencies } from '../dependencies.js';
import { answerPage, pageOf, paging } from '../paging.js';
import { deliveryView, presentDelivery } from '../presenters/delivery.js';
import { pageView } from '../presenters/page.js';
import { route } from '../route.js';
import { recovered, recoverRequest } from '../schemas/recover.js';

export const deliveries = pageView('DeliveryPage', deliveryView);
export const deliveryFilters = z.strictObject({ status: z.enum(DeliveryStatus).optional(), ...paging });

/** `/deliveries`, and the deliveries of one endpoint (contract, Events and deliveries). */
export function deliveryRoutes({ config, steering }: AppDependencies) {
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
        return answerPage(rows, query.limit, presentDelivery, { ...request, baseUrl: config.baseUrl });
      },
    }),
    route({
      method: 'GET',
      path: '/deliveries/{id}',
      operationId: 'getDelivery',
      tag,
      summary: 'Read a delivery',
      scope: 'webhooks:read',
      answer: { status: 200, description: 'The delivery with its attempts.', schema: deliveryView },
      async handle({ caller, params, db }) {
        return { status: 200, body: presentDelivery(await getDelivery(db, caller.clientId, params.id)) };
      },
    }),
    route({
      method: 'POST',
      path: '/deliveries/{id}/retry',
      operationId: 'retryDelivery',
      tag,
      summary: 'Retry a delivery now',
      description:
        'Wakes one that waits for its next attempt, which uses that attempt up; makes one new attempt at one that has ended.',
      scope: 'webhooks:write',
      answer: { status: 202, description: 'Under way; the delivery as it stands.', schema: deliveryView },
      refusals: ['endpoint_not_active'],
      async handle({ caller, params, db }) {
        const { id } = await getDelivery(db, caller.clientId, params.id);
        await steering.retry(db, caller.clientId, id);
        return { status: 202, body: presentDelivery(await getDelivery(db, caller.clientId, id)) };
      },
    }),
    route({
      method: 'POST',
      path: '/webhook-endpoints/{webhookId}/recover',
      operationId: 'recoverWebhookEndpoint',
      tag,
      summary: 'Deliver again what was missed',
      description:
        'Every failed or cancelled delivery of events made in [since, until) starts again, at a bounded pace. One runs per endpoint.',
      scope: 'webhooks:write',
      body: recoverRequest,
      answer: { status: 202, description: 'Under way.', schema: recovered },
      refusals: ['endpoint_not_active', 'recover_in_progress'],
      async handle({ caller, params, body: { since, until = Date.now() }, db }) {
        const endpoint = await getEndpoint(db, caller.clientId, params.webhookId);
        if (!endpoint.enabled) throw new Refusal('endpoint_not_active', 'The webhook endpoint is disabled.');
        return {
          status: 202,
          body: { count: await steering.recover(db, caller.clientId, endpoint.id, { since, until }) },
        };
      },
    }),
  ];
}
