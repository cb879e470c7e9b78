import { newestDeliveries } from '../endpoints/health.js';
import type { Handle } from '../platform/database/database.js';
import { DeliveryStatus } from '../platform/database/generated/enums.js';
import { exactly, type IdRange, idBounds } from '../platform/ids.js';
import { type DeliveryRecord, WITH_CONTEXT, withLastAttempts } from './read-deliveries.js';

/** The deliveries that a list has; undefined: of every status, client, endpoint or event. */
export interface DeliveryFilters extends IdRange {
  status?: DeliveryStatus | undefined;
  clientId?: string | undefined;
  endpointId?: string | undefined;
  eventIds?: readonly string[] | undefined;
}

type DeliveryPage = DeliveryFilters & { take: number };

interface ClientFilters extends IdRange, Pick<DeliveryFilters, 'status' | 'endpointId'> {
  eventId?: string | undefined;
  transferId?: string | undefined;
  take: number;
}

/**
 * Lists a client's deliveries, newest first. Deliveries of deleted endpoints are listed by transfer, and by event, only.
 */
export async function listDeliveries(
  db: Handle,
  clientId: string,
  { eventId, transferId, ...filters }: ClientFilters,
): Promise<DeliveryRecord[]> {
  const ofTransfer = transferId === undefined ? undefined : await eventIdsOfTransfer(db, transferId, clientId);
  const eventIds = eventId === undefined ? ofTransfer : [eventId];
  return list(db, { ...filters, clientId, eventIds }, false);
}

/** Lists the newest deliveries for the operator, with those of deleted endpoints. */
export const listDeliveriesForOperator = (db: Handle, filters: DeliveryPage) => list(db, filters, true);

/** More events than a transfer can have: each is a change of its status. */
const MAX_EVENTS = 100;

/**
 * Lists the events of a transfer. Empty if the transfer does not exist, or belongs to another client.
 * @param of undefined: any client, for the operator
 */
export async function eventIdsOfTransfer(db: Handle, transferId: string, of?: string): Promise<string[]> {
  const transfer = await db.prisma.transfer.findUnique({ where: { id: transferId }, select: { clientId: true } });
  const clientId = of ?? transfer?.clientId;
  if (clientId === undefined) return [];
  const events = await db.prisma.event.findMany({
    where: { clientId: exactly(clientId), transferId },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take: MAX_EVENTS,
    select: { id: true },
  });
  return events.map(({ id }) => id);
}

/** @param ofDeleted whether deliveries of deleted endpoints are listed where no event is given */
async function list(db: Handle, filters: DeliveryPage, ofDeleted: boolean): Promise<DeliveryRecord[]> {
  const { take } = filters;
  const newest = async () => db.query<{ id: string }>(NEWEST, [...valuesOf(filters), take, ofDeleted]);
  const where = isByIds(filters) ? whereOf(filters) : { id: { in: (await newest()).map(({ id }) => id) } };
  const orderBy = { id: 'desc' } as const;
  return withLastAttempts(db, await db.prisma.delivery.findMany({ where, orderBy, take, include: WITH_CONTEXT }));
}

/** Deliveries beyond a page that are counted. */
export const COUNTED_MORE = 1_000;

/** Counts the deliveries that `listDeliveriesForOperator` would list; above `COUNTED_MORE`, one more than it. */
export async function countDeliveriesForOperator(db: Handle, filters: DeliveryFilters): Promise<number> {
  const take = COUNTED_MORE + 1;
  if (isByIds(filters)) return db.prisma.delivery.count({ where: whereOf(filters), orderBy: { id: 'desc' }, take });
  const [row] = await db.query<{ count: number }>(COUNT, [...valuesOf(filters), take]);
  return row?.count ?? 0;
}

/** An event has few deliveries, and the order of all ids is the order of time: neither needs the index by endpoint. */
function isByIds({ status, clientId, endpointId, eventIds }: DeliveryFilters): boolean {
  return eventIds !== undefined || (status ?? clientId ?? endpointId) === undefined;
}

function whereOf({ status, clientId, endpointId, eventIds, ...range }: DeliveryFilters) {
  return {
    ...(status !== undefined && { status }),
    ...(clientId !== undefined && { clientId }),
    ...(endpointId !== undefined && { endpointId }),
    ...(eventIds !== undefined && { eventId: { in: [...eventIds] } }),
    id: idBounds(range),
  };
}

function valuesOf({ status, clientId, endpointId, ...range }: DeliveryFilters): unknown[] {
  const { gte, lt } = idBounds(range);
  return [status ? [status] : Object.values(DeliveryStatus), clientId ?? null, endpointId ?? null, gte, lt];
}

/** The ranges of the index on (endpoint, status, id) that the filters leave. */
const RANGES = 'webhook_endpoints e cross join unnest($1::delivery_status[]) as s(status)';
const OWNED = '($2::uuid is null or e.client_id = $2::uuid) and ($3::uuid is null or e.id = $3::uuid)';
const WITHIN = 'id >= $4::uuid and id < $5::uuid';

/**
 * Uses the index on (endpoint, status, id) for every filter. The newest N deliveries belong to the N endpoints with the
 * newest own deliveries. The statement therefore reads one row of each endpoint, and never scans a million other rows.
 */
const NEWEST = `
with newest as (
  select e.id as endpoint_id, s.status, d.id
    from ${RANGES}
    cross join lateral (
      ${newestDeliveries('id', { endpoint: 'e.id', status: 's.status', within: WITHIN, limit: 1 })}) d
   where ${OWNED} and ($7::boolean or e.deleted_at is null)
   order by d.id desc limit $6::int
)
select d.id
  from newest n cross join lateral (
    ${newestDeliveries('id', { endpoint: 'n.endpoint_id', status: 'n.status', within: WITHIN, limit: '$6::int' })}) d
 order by d.id desc limit $6::int`;

/** Stops at the limit, whatever the order of the endpoints. */
const COUNT = `
select count(*)::int as count
  from (select from ${RANGES}
         cross join lateral (
           ${newestDeliveries('', { endpoint: 'e.id', status: 's.status', within: WITHIN, limit: '$6::int' })}) d
         where ${OWNED} limit $6::int) counted`;
