import type { Handle } from '../database/database.js';
import { exactly, idsWithin } from '../ids.js';
import { type DeliveryRange, newestDeliveryIds } from './newest-deliveries.js';
import { type DeliveryRecord, WITH_CONTEXT, withLastAttempts } from './read-deliveries.js';

export interface ClientDeliveryFilters extends DeliveryRange {
  transferId?: string | undefined;
}

/** A delivery with what its endpoint is called. */
export type ClientDelivery = DeliveryRecord & { endpoint: { description: string | null } };

/** More events than a transfer can have: each is a change of its status. */
const MAX_EVENTS = 100;

/**
 * Lists a client's deliveries over all its endpoints, newest first, for people. Deliveries of deleted endpoints are
 * listed by transfer, and by event, only.
 */
export async function listDeliveriesForClient(
  db: Handle,
  clientId: string,
  filters: ClientDeliveryFilters,
): Promise<ClientDelivery[]> {
  const ids = await (filters.transferId === undefined
    ? newestDeliveryIds(db, clientId, filters)
    : newestOfTransfer(db, clientId, filters.transferId, filters));
  const rows = await db.prisma.delivery.findMany({
    where: { clientId, id: { in: ids } },
    orderBy: { id: 'desc' },
    include: { ...WITH_CONTEXT, endpoint: { select: { url: true, description: true } } },
  });
  return withLastAttempts(db, rows);
}

/** A transfer has few events, and an event one delivery for each endpoint, so that they are read and then filtered. */
async function newestOfTransfer(
  db: Handle,
  clientId: string,
  transferId: string,
  { status, endpointId, take, ...range }: ClientDeliveryFilters,
): Promise<string[]> {
  const events = await db.prisma.event.findMany({
    where: { clientId: exactly(clientId), transferId },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take: MAX_EVENTS,
    select: { id: true },
  });
  const rows = await db.prisma.delivery.findMany({
    where: {
      clientId,
      eventId: { in: events.map(({ id }) => id) },
      id: idsWithin(range),
      ...(status !== undefined && { status }),
      ...(endpointId !== undefined && { endpointId }),
    },
    orderBy: { id: 'desc' },
    take,
    select: { id: true },
  });
  return rows.map(({ id }) => id);
}
