import { isId } from '../../../id-form.js';
import { Refusal } from '../../../refusal.js';
import { findEventOf } from '../../../webhooks/read-event-story.js';
import type { Visit } from '../../page.js';

/** What an id in the filter `id` leads to: a page of its own, or the events of a transfer. */
export type Found = { location: `/console${string}` } | { transferId: string | undefined };

/**
 * Reads the filter `id`: the id of an event or of a delivery leads to the event's page; any other id is a transfer's.
 * @throws Refusal invalid_request
 */
export async function findById({ query, read, session }: Pick<Visit, 'query' | 'read' | 'session'>): Promise<Found> {
  const id = (query.get('id') ?? '').trim().toLowerCase();
  if (id === '') return { transferId: undefined };
  if (!isId(id)) {
    const error = {
      parameter: 'id',
      code: 'invalid_id',
      detail: 'must be the whole id of an event, delivery or transfer',
    };
    throw new Refusal('invalid_request', `The filter “id” ${error.detail}.`, [error]);
  }
  const found = await read((db) => findEventOf(db, session.clientId, id));
  if (!found) return { transferId: id };
  return { location: eventPath(found.eventId, found.deliveryId) };
}

/** @param deliveryId the delivery to scroll to */
export function eventPath(eventId: string, deliveryId?: string | null): `/console${string}` {
  return `/console/events/${eventId}${deliveryId ? `#delivery-${deliveryId}` : ''}`;
}
