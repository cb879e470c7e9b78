import { z } from 'zod';
import { isId } from '../../id-form.js';
import { LOOKED_AT } from '../../webhooks/deliver-missing.js';
import { EVENT_TYPES } from '../../webhooks/event-catalogue.js';
import { listMissing } from '../../webhooks/list-missing.js';
import { listDeliveries } from '../../webhooks/read-deliveries.js';
import { getEvent, listEvents } from '../../webhooks/read-events.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import { idCursor } from '../cursor.js';
import type { AppDependencies } from '../dependencies.js';
import { pageOf, paging, respondWithPage, respondWithShortPage } from '../paging.js';
import { presentDelivery } from '../presenters/delivery.js';
import { eventView, presentEvent } from '../presenters/event.js';
import { pageView } from '../presenters/page.js';
import { route } from '../route.js';
import { TOO_LONG_WINDOW } from '../schemas/statement.js';
import { validationError } from '../schemas/text.js';
import { madeWithin } from '../schemas/time.js';
import { deliveries, deliveryFilters } from './deliveries.js';

const events = pageView('EventPage', eventView);
const eventCursors = idCursor('events');
const deliveryCursors = idCursor("an event's deliveries");

const filters = z
  .strictObject({
    missing_from: z
      .string()
      .refine(isId, validationError('invalid_id', 'must be a UUID'))
      .optional()
      .meta({
        format: 'uuid',
        description: `Only events that have no delivery for this endpoint. \`created_after\` is then required and at most ${MAX_WINDOW_DAYS} days ago. A page looks at ${LOOKED_AT.toLocaleString('en')} events at most, so that it may be short or empty although \`has_more\` is true.`,
      }),
    type: z.enum(EVENT_TYPES).optional(),
    transfer_id: z
      .string()
      .refine(isId, validationError('invalid_id', 'must be a UUID'))
      .optional()
      .meta({ format: 'uuid' }),
    ...madeWithin,
    ...paging(eventCursors),
  })
  .refine(({ missing_from, created_after }) => missing_from === undefined || created_after !== undefined, {
    path: ['created_after'],
    ...validationError('required', 'is required with missing_from'),
  })
  .refine(
    ({ missing_from, created_after: since = Date.now() }) => missing_from === undefined || !isTooLong({ since }),
    {
      path: ['created_after'],
      ...TOO_LONG_WINDOW,
    },
  );

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
      refusals: ['not_found', 'statement_limit_reached'],
      response: { status: 200, description: 'A page of the list, newest first.', schema: events },
      async handle({ caller, query, db, ...request }) {
        const { type, transfer_id, created_after, created_before, missing_from } = query;
        if (missing_from !== undefined) {
          const page = await listMissing(db, caller.clientId, {
            endpointId: missing_from.toLowerCase(),
            createdAfter: created_after ?? Date.now(),
            createdBefore: created_before ?? Date.now(),
            type,
            transferId: transfer_id,
            before: query.cursor,
            limit: query.limit,
          });
          return respondWithShortPage(eventCursors, page.events, page.next, presentEvent, {
            ...request,
            baseUrl: config.baseUrl,
          });
        }
        const rows = await listEvents(db, caller.clientId, {
          type,
          transferId: transfer_id,
          createdAfter: created_after,
          createdBefore: created_before,
          ...pageOf(query),
        });
        return respondWithPage(eventCursors, rows, query.limit, presentEvent, { ...request, baseUrl: config.baseUrl });
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
      query: deliveryFilters(deliveryCursors),
      response: { status: 200, description: 'A page of the list, newest first.', schema: deliveries },
      async handle({ caller, params, query, db, ...request }) {
        const { id: eventId } = await getEvent(db, caller.clientId, params.id);
        const of = { eventId };
        const rows = await listDeliveries(db, caller.clientId, { of, status: query.status, ...pageOf(query) });
        return respondWithPage(deliveryCursors, rows, query.limit, presentDelivery, {
          ...request,
          baseUrl: config.baseUrl,
        });
      },
    }),
  ];
}
