import type { Handle } from '../database/database.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { exactly, type IdRange, idsWithin, lowestIdAt } from '../ids.js';
import { type DeliveryRecord, withLastAttempts } from './read-deliveries.js';

export interface ClientDeliveryFilters extends IdRange {
  status?: DeliveryStatus | undefined;
  endpointId?: string | undefined;
  transferId?: string | undefined;
  take: number;
}

/** A delivery with what its endpoint is called and what its event says. */
export type ClientDelivery = DeliveryRecord & {
  endpoint: { description: string | null };
  event: { type: string; body: string };
};

/** More endpoints than a client has by default. */
const MAX_ENDPOINTS = 100;
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
    ? newestOfEndpoints(db, clientId, filters)
    : newestOfTransfer(db, clientId, filters.transferId, filters));
  const rows = await db.prisma.delivery.findMany({
    where: { clientId, id: { in: ids } },
    orderBy: { id: 'desc' },
    include: {
      endpoint: { select: { url: true, description: true } },
      event: { select: { type: true, body: true } },
    },
  });
  return withLastAttempts(db, rows);
}

/**
 * The newest of each endpoint, merged: one range of the index on (endpoint, id) or (endpoint, status, id) for each
 * endpoint, so that no other client's rows and no other status are read.
 */
async function newestOfEndpoints(db: Handle, clientId: string, filters: ClientDeliveryFilters): Promise<string[]> {
  const { status, endpointId = null, take } = filters;
  const { gte, lt } = { gte: lowestIdAt(0), lt: HIGHEST, ...idsWithin(filters) };
  const range = [clientId, endpointId, gte, lt, take, MAX_ENDPOINTS];
  const rows = await (status === undefined
    ? db.query<{ id: string }>(newest(''), range)
    : db.query<{ id: string }>(newest('and status = $7::delivery_status'), [...range, status]));
  return rows.map(({ id }) => id);
}

const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const newest = (condition: string) => `
select d.id::text
  from (select id from webhook_endpoints
         where client_id = $1::uuid and deleted_at is null and ($2::uuid is null or id = $2::uuid)
         order by id desc limit $6::int) e
 cross join lateral (
   select id from deliveries
    where endpoint_id = e.id and id >= $3::uuid and id < $4::uuid ${condition}
    order by id desc limit $5::int) d
 order by d.id desc limit $5::int`;

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
