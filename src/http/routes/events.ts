import { z } from 'zod';
import { EVENT_TYPES } from '../../delivery/event-catalogue.js';
import { LOOKED_AT, refuseTooLong } from '../../endpoints/window.js';
import { CommittedUntil } from '../../platform/database/committed-until.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { lowestIdAt, timeOf } from '../../platform/ids.js';
import { MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { Refusal } from '../../platform/refusal.js';
import { getEvent, listEvents, listEventsOldestFirst, listMissing } from '../../reports/read-events.js';
import type { AppDependencies } from '../context.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { routesOf } from '../route.js';
import { eventView, presentEvent } from '../schemas/delivery.js';
import { idFilter, madeWithin, validationError } from '../schemas/fields.js';

const events = pageView('EventPage', eventView);
const eventCursors = idCursor('events');
const feedCursors = idCursor('the feed of events');
/** Reads the cursors of both orders, each as what it is. */
const cursors = {
  read(text: string) {
    const [id, feedId] = [eventCursors.read(text), feedCursors.read(text)];
    return id !== undefined
      ? { id, order: 'newest' }
      : feedId !== undefined
        ? { id: feedId, order: 'oldest' }
        : undefined;
  },
};

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
    order: z.enum(['newest', 'oldest']).default('newest').meta({
      description:
        '`oldest`: the feed, oldest first. Every page has a `next_cursor`; read on from it at any time within the retention period. No event ever appears before it, so none is missed. An event appears about a second after its change, later while an older change is being committed. Not with `missing_from` or `outcome`.',
    }),
    ...paging(cursors),
  })
  .refine(
    ({ order, cursor }) => cursor === undefined || cursor.order === order,
    validationError('invalid_cursor', 'is not a cursor of an earlier response of this list', 'cursor'),
  )
  .refine(
    ({ order, missing_from }) => order === 'newest' || missing_from === undefined,
    validationError('not_allowed', 'is not allowed with order=oldest', 'missing_from'),
  )
  .refine(
    ({ order, missing_from, outcome }) => outcome === undefined || (order === 'newest' && missing_from === undefined),
    validationError('not_allowed', 'is not allowed with order=oldest or missing_from', 'outcome'),
  )
  .refine(
    ({ missing_from, created_after }) => missing_from === undefined || created_after !== undefined,
    validationError('required', 'is required with missing_from', 'created_after'),
  );

/** @throws Refusal outside_retention where events after the cursor may have been removed */
function refuseExpired(cursor: string | undefined, kept: number): void {
  if (cursor === undefined || timeOf(cursor) >= kept) return;
  const detail = `is from before ${new Date(kept).toISOString()}: later events have been removed`;
  const error = { parameter: 'cursor', code: 'outside_retention', detail };
  throw new Refusal('outside_retention', `cursor ${detail}.`, [error]);
}

/** `/events`. */
export function eventRoutes({ config }: AppDependencies) {
  const committed = new CommittedUntil();
  const route = routesOf('Events and deliveries', 'webhooks');
  return [
    route('GET', '/events', {
      operationId: 'listEvents',
      summary: 'List events',
      query: filters,
      refusals: ['not_found', 'statement_limit_reached', 'outside_retention'],
      returns: events,
      async handle(request) {
        const { caller, query, db } = request;
        const { type, outcome, transfer_id: transferId, created_before, missing_from: endpointId } = query;
        const filters = { type, transferId, ...pageOf({ ...query, cursor: query.cursor?.id }) };
        if (endpointId !== undefined) {
          await refuseTooLong(db, { since: query.created_after ?? 0 }, { parameter: 'created_after' });
          const page = await listMissing(db, caller.clientId, { ...filters, endpointId });
          return respondWithPage(request, eventCursors, page.events, presentEvent, page.next);
        }
        if (query.order === 'oldest') {
          const until = await committed.read(db);
          const { before: after, ...others } = filters;
          refuseExpired(after, until - config.retention);
          const rows = await listEventsOldestFirst(db, caller.clientId, { ...others, after, until });
          const reached = lowestIdAt(Math.min(until, created_before ?? until));
          const end = after !== undefined && after > reached ? after : reached;
          return respondWithPage(request, feedCursors, rows, presentEvent, null, end);
        }
        const rows = await listEvents(db, caller.clientId, { ...filters, outcome });
        return respondWithPage(request, eventCursors, rows, presentEvent);
      },
    }),
    route('GET', '/events/{id}', {
      operationId: 'getEvent',
      summary: 'Read an event',
      returns: eventView,
      handle: async ({ caller, params, db }) => presentEvent(await getEvent(db, caller.clientId, params.id)),
    }),
  ];
}
