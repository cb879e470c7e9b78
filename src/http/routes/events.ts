import { z } from 'zod';
import { isId } from '../../ids.js';
import { EVENT_TYPES } from '../../webhooks/event-catalogue.js';
import { listDeliveries } from '../../webhooks/read-deliveries.js';
import { getEvent, listEvents } from '../../webhooks/read-events.js';
import type { AppDependencies } from '../dependencies.js';
import { pageOf, paging, respondWithPage } from '../paging.js';
import { presentDelivery } from '../presenters/delivery.js';
import { eventView, presentEvent } from '../presenters/event.js';
import { pageView } from '../presenters/page.js';
import { route } from '../route.js';
import { validationError } from '../schemas/text.js';
import { madeWithin } from '../schemas/time.js';
import { deliveries, deliveryFilters } from './deliveries.js';

const events = pageView('EventPage', eventView);

const filters = z.strictObject({
  type: z.enum(EVENT_TYPES).optional(),
  transfer_id: z
    .string()
    .refine(isId, validationError('invalid_id', 'must be a UUID'))
    .optional()
    .meta({ format: 'uuid' }),
  ...madeWithin,
  ...paging,
});

/** `/events` (contract, Events and deliveries). */
export function eventRoutes({ config }: AppDependencies) {
  const tag = 'Events and deliveries';
  return [
    route({
      method: 'GET',
      path: '/events',
      operationId: 'listEvents',
      tag,
      summary: 'List events',
      scope: 'webhooks:read',
      query: filters,
      response: { status: 200, description: 'A page of the list, newest first.', schema: events },
      async handle({ caller, query, db, ...request }) {
        const { type, transfer_id, created_after, created_before } = query;
        const rows = await listEvents(db, caller.clientId, {
          type,
          transferId: transfer_id,
          createdAfter: created_after,
          createdBefore: created_before,
          ...pageOf(query),
        });
        return respondWithPage(rows, query.limit, presentEvent, { ...request, baseUrl: config.baseUrl });
      },
    }),
    route({
      method: 'GET',
      path: '/events/{id}',
      operationId: 'getEvent',
      tag,
      summary: 'Read an event',
      scope: 'webhooks:read',
      response: {
        status: 200,
        description: 'The event as delivered, with the number of its deliveries in each status.',
        schema: eventView,
      },
      async handle({ caller, params, db }) {
        return { status: 200, body: presentEvent(await getEvent(db, caller.clientId, params.id)) };
      },
    }),
    route({
      method: 'GET',
      path: '/events/{id}/deliveries',
      operationId: 'listEventDeliveries',
      tag,
      summary: "List an event's deliveries",
      scope: 'webhooks:read',
      query: deliveryFilters,
      response: { status: 200, description: 'A page of the list, newest first.', schema: deliveries },
      async handle({ caller, params, query, db, ...request }) {
        const { id: eventId } = await getEvent(db, caller.clientId, params.id);
        const of = { eventId };
        const rows = await listDeliveries(db, caller.clientId, { of, status: query.status, ...pageOf(query) });
        return respondWithPage(rows, query.limit, presentDelivery, { ...request, baseUrl: config.baseUrl });
      },
    }),
  ];
}
