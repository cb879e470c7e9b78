import { z } from 'zod';
import { DIGEST_EXPLANATIONS, type DigestExplanation } from '../../../clients/typescript/src/explain.js';
import { byOf } from '../../auth/caller.js';
import { explainAttempt } from '../../checks/explain-signature.js';
import { retryDelivery } from '../../delivery/retry.js';
import { getEndpoint } from '../../endpoints/endpoints.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { PostgresLimit } from '../../platform/rate-limit.js';
import { SHOWN_ATTEMPTS } from '../../platform/vocabulary.js';
import { getDelivery, getDeliveryWithAttempts, listAttempts, listDeliveries } from '../../reports/read-deliveries.js';
import { getEvent } from '../../reports/read-events.js';
import type { AppDependencies } from '../context.js';
import { idCursor, numberCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { routesOf } from '../route.js';
import {
  attemptView,
  deliveryView,
  deliveryWithAttemptsView,
  presentAttempt,
  presentDelivery,
  presentDeliveryWithAttempts,
} from '../schemas/delivery.js';
import { idFilter, madeWithin, requestBody, validationError, view } from '../schemas/fields.js';

const deliveries = pageView('DeliveryPage', deliveryView);
const cursors = idCursor('deliveries');
const filters = z.strictObject({ status: z.enum(DeliveryStatus).optional(), ...paging(cursors) });
const allFilters = filters.extend({ webhookId: idFilter, event_id: idFilter, transfer_id: idFilter, ...madeWithin });

const attempts = pageView('AttemptPage', attemptView);
const attemptCursors = numberCursor('attempts');
const attemptFilters = z.strictObject(paging(attemptCursors, { most: SHOWN_ATTEMPTS, usual: SHOWN_ATTEMPTS }));

/** Characters. */
const MAX_DIGEST = 512;

const computed = requestBody('ComputedSignature', {
  v0: z
    .string()
    .refine(
      (text) => text.length <= MAX_DIGEST,
      validationError('too_long', `may have at most ${MAX_DIGEST} characters`),
    )
    .meta({
      maxLength: MAX_DIGEST,
      description: 'The digest that your receiver computed, with or without `v0=` before it.',
      examples: ['5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd'],
    }),
});

const explained = view('SignatureExplanation', {
  explanation: z
    .enum(Object.keys(DIGEST_EXPLANATIONS) as DigestExplanation[])
    .meta({ examples: ['reserialized_body'] }),
  detail: z.string().meta({ description: 'What to change.', examples: [DIGEST_EXPLANATIONS.reserialized_body] }),
});

/**
 * `/deliveries`, and the deliveries of one endpoint or event.
 */
export function deliveryRoutes({ handover, masterKeys }: AppDependencies) {
  const explanations = new PostgresLimit('explanations', LIMITS.explanations);
  const route = routesOf('Events and deliveries', 'webhooks');
  return [
    route('GET', '/webhook-endpoints/{webhookId}/deliveries', {
      operationId: 'listEndpointDeliveries',
      summary: "List an endpoint's deliveries",
      query: filters,
      returns: deliveries,
      async handle(request) {
        const { caller, params, query, db } = request;
        const { id: endpointId } = await getEndpoint(db, caller.clientId, params.webhookId);
        const rows = await listDeliveries(db, caller.clientId, { endpointId, status: query.status, ...pageOf(query) });
        return respondWithPage(request, cursors, rows, presentDelivery);
      },
    }),
    route('GET', '/events/{id}/deliveries', {
      operationId: 'listEventDeliveries',
      summary: "List an event's deliveries",
      query: filters,
      returns: deliveries,
      async handle(request) {
        const { caller, params, query, db } = request;
        const { id: eventId } = await getEvent(db, caller.clientId, params.id);
        const rows = await listDeliveries(db, caller.clientId, { eventId, status: query.status, ...pageOf(query) });
        return respondWithPage(request, cursors, rows, presentDelivery);
      },
    }),
    route('GET', '/deliveries', {
      operationId: 'listDeliveries',
      summary: 'List deliveries',
      description:
        'The deliveries of all endpoints, deleted ones too, by the time of their events. The filters by time mean that time.',
      query: allFilters,
      returns: deliveries,
      async handle(request) {
        const { caller, query, db } = request;
        const { webhookId: endpointId, event_id: eventId, transfer_id: transferId, status } = query;
        const filters = { endpointId, eventId, transferId, status, ...pageOf(query) };
        const rows = await listDeliveries(db, caller.clientId, filters);
        return respondWithPage(request, cursors, rows, presentDelivery);
      },
    }),
    route('GET', '/deliveries/{id}', {
      operationId: 'getDelivery',
      summary: 'Read a delivery',
      returns: deliveryWithAttemptsView,
      async handle({ caller, params, db }) {
        const delivery = await getDeliveryWithAttempts(db, caller.clientId, params.id);
        return presentDeliveryWithAttempts(delivery);
      },
    }),
    route('GET', '/deliveries/{id}/attempts', {
      operationId: 'listAttempts',
      summary: "List a delivery's attempts",
      query: attemptFilters,
      returns: attempts,
      async handle(request) {
        const { caller, params, query, db } = request;
        const { id } = await getDelivery(db, caller.clientId, params.id);
        const rows = await listAttempts(db, id, pageOf(query));
        return respondWithPage(request, attemptCursors, rows, presentAttempt);
      },
    }),
    route('POST', '/deliveries/{id}/retry', {
      operationId: 'retryDelivery',
      summary: 'Retry a delivery now',
      description: `Makes one extra attempt now, whether the delivery is pending or has ended. If it fails, \`next_attempt_at\` and the planned attempts stay as they were. If an attempt is in flight or already requested, nothing changes. Limit: ${describeLimit(LIMITS.retries)}.`,
      status: 202,
      returns: deliveryView,
      isAudited: true,
      refusals: ['endpoint_not_active', 'retry_limit_reached'],
      async handle({ caller, params, db }) {
        const { clientId } = caller;
        await retryDelivery(db, handover, { by: byOf(caller), clientId, deliveryId: params.id });
        return presentDelivery(await getDelivery(db, clientId, params.id));
      },
    }),
    route('POST', '/deliveries/{id}/attempts/{number}/explain-signature', {
      operationId: 'explainSignature',
      summary: 'Explain why a signature was rejected',
      description: `Tries common mistakes of receivers on this attempt, and names the first that produces your digest. Limit: ${describeLimit(LIMITS.explanations)}.`,
      body: computed,
      returns: explained,
      refusals: ['secret_erased'],
      async handle({ caller, params, body: { v0 }, db }) {
        await explanations.consume(db, caller.clientId);
        const name = { deliveryId: params.id, number: Number(params.number) };
        const explanation = await explainAttempt(db, masterKeys, caller.clientId, name, v0);
        return { explanation, detail: DIGEST_EXPLANATIONS[explanation] };
      },
    }),
  ];
}
