import { z } from 'zod';
import { EVENT_TYPES } from '../../delivery/event-catalogue.js';
import { LOOKED_AT } from '../../delivery/window.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isTooLong, MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { listDeliveries } from '../../reports/read-deliveries.js';
import { getEvent, listEvents, listMissing } from '../../reports/read-events.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { routesOf } from '../route.js';
import { eventView, presentDelivery, presentEvent } from '../schemas/delivery.js';
import { idFilter, madeWithin, validationError } from '../schemas/fields.js';
import { TOO_LONG_WINDOW } from '../schemas/statement.js';
import { deliveries, deliveryFilters } from './deliveries.js';

const events = pageView('EventPage', eventView);
const eventCursors = idCursor('events');
const deliveryCursors = idCursor("an event's deliveries");

const filters = z
  .strictObject({
    missing_from: idFilter.meta({
      description: `Only events that have no delivery for this endpoint. \`created_after\` is then required and at most ${MAX_WINDOW_DAYS} days ago. A page scans at most ${LOOKED_AT.toLocaleString('en')} events, so it may be short or empty even if \`has_more\` is true.`,
    }),
    type: z.enum(EVENT_TYPES).optional(),
    outcome: z
      .enum(DeliveryStatus)
      .optional()
      .meta({ description: 'Only events that have a delivery with this status. Not with `missing_from`.' }),
    transfer_id: idFilter,
    ...madeWithin,
    ...paging(eventCursors),
  })
  .refine(({ missing_from, created_after }) => missing_from === undefined || created_after !== undefined, {
    path: ['created_after'],
    ...validationError('required', 'is required with missing_from'),
  })
  .refine(({ missing_from, outcome }) => missing_from === undefined || outcome === undefined, {
    path: ['outcome'],
    ...validationError('not_allowed', 'is not allowed with missing_from'),
  })
  .refine(
    ({ missing_from, created_after: since = Date.now() }) => missing_from === undefined || !isTooLong({ since }),
    {
      path: ['created_after'],
      ...TOO_LONG_WINDOW,
    },
  );

/** `/events` (contract, Events and deliveries). */
export function eventRoutes() {
  const route = routesOf('Events and deliveries');
  return [
    route('GET', '/events', {
      operationId: 'listEvents',
      summary: 'List events',
      scope: 'webhooks:read',
      query: filters,
      refusals: ['not_found', 'statement_limit_reached'],
      response: events,
      async handle(request) {
        const { caller, query, db } = request;
        const { type, outcome, transfer_id, created_after, created_before, missing_from } = query;
        if (missing_from !== undefined) {
          const page = await listMissing(db, caller.clientId, {
            endpointId: missing_from,
            createdAfter: created_after ?? Date.now(),
            createdBefore: created_before,
            type,
            transferId: transfer_id,
            before: query.cursor,
            limit: query.limit,
          });
          return respondWithPage(request, eventCursors, page.events, presentEvent, page.next);
        }
        const rows = await listEvents(db, caller.clientId, {
          type,
          outcome,
          transferId: transfer_id,
          ...pageOf(query),
        });
        return respondWithPage(request, eventCursors, rows, presentEvent);
      },
    }),
    route('GET', '/events/{id}', {
      operationId: 'getEvent',
      summary: 'Read an event',
      scope: 'webhooks:read',
      response: {
        status: 200,
        description: 'The event as delivered, with the number of its deliveries in each status.',
        schema: eventView,
      },
      handle: async ({ caller, params, db }) => presentEvent(await getEvent(db, caller.clientId, params.id)),
    }),
    route('GET', '/events/{id}/deliveries', {
      operationId: 'listEventDeliveries',
      summary: "List an event's deliveries",
      scope: 'webhooks:read',
      query: deliveryFilters(deliveryCursors),
      response: deliveries,
      async handle(request) {
        const { caller, params, query, db } = request;
        const { id: eventId } = await getEvent(db, caller.clientId, params.id);
        const rows = await listDeliveries(db, caller.clientId, { eventId, status: query.status, ...pageOf(query) });
        return respondWithPage(request, deliveryCursors, rows, presentDelivery);
      },
    }),
  ];
}
