import { newestDeliveries } from '../endpoints/health.js';
import type { Handle } from '../platform/database/database.js';
import { DeliveryStatus } from '../platform/database/generated/enums.js';
import { exactly, type IdRange, idBounds, idsWithin } from '../platform/ids.js';
import { type DeliveryRecord, type DeliveryRow, WITH_CONTEXT, withLastAttempts } from './read-deliveries.js';

export interface DeliveryRange extends IdRange {
  status?: DeliveryStatus | undefined;
  /** One endpoint; undefined: all that are not deleted. */
  endpointId?: string | undefined;
  take: number;
}

/** More endpoints than a client has by default. */
const MAX_ENDPOINTS = 100;

/** The ids of a client's newest deliveries: the newest of each endpoint, merged. */
async function newestDeliveryIds(db: Handle, clientId: string, range: DeliveryRange): Promise<string[]> {
  const { status, endpointId = null, take } = range;
  const { gte, lt } = idBounds(range);
  const values = [clientId, endpointId, gte, lt, take, MAX_ENDPOINTS];
  const rows = await (status === undefined
    ? db.query<{ id: string }>(OF_ALL, values)
    : db.query<{ id: string }>(OF_STATUS, [...values, status]));
  return rows.map(({ id }) => id);
}

const newestOfEach = (status?: string) => `
select d.id::text
  from (select id from webhook_endpoints
         where client_id = $1::uuid and deleted_at is null and ($2::uuid is null or id = $2::uuid)
         order by id desc limit $6::int) e
 cross join lateral (
   ${newestDeliveries('id', { endpoint: 'e.id', status, within: 'id >= $3::uuid and id < $4::uuid', limit: '$5::int' })}) d
 order by d.id desc limit $5::int`;

const OF_ALL = newestOfEach();
const OF_STATUS = newestOfEach('$7::delivery_status');

export interface DeliveryFilters extends DeliveryRange {
  eventId?: string | undefined;
  transferId?: string | undefined;
}

/** More events than a transfer can have: each is a change of its status. */
const MAX_EVENTS = 100;

/**
 * Lists a client's deliveries, newest first. Deliveries of deleted endpoints are listed by transfer, and by event, only.
 * A transfer has few events, and an event one delivery for each endpoint, so that no other filter makes these slow.
 */
export async function listDeliveries(
  db: Handle,
  clientId: string,
  filters: DeliveryFilters,
): Promise<DeliveryRecord[]> {
  const { eventId, transferId, status, endpointId, take, ...range } = filters;
  const eventIds =
    eventId !== undefined ? [eventId] : transferId !== undefined ? await eventsOf(db, clientId, transferId) : undefined;
  const rows = await db.prisma.delivery.findMany({
    where: {
      clientId,
      ...(eventIds
        ? { ...given({ status, endpointId }), eventId: { in: eventIds }, id: idsWithin(range) }
        : { id: { in: await newestDeliveryIds(db, clientId, filters) } }),
    },
    orderBy: { id: 'desc' },
    take,
    include: WITH_CONTEXT,
  });
  return withLastAttempts(db, rows);
}

async function eventsOf(db: Handle, clientId: string, transferId: string): Promise<string[]> {
  const events = await db.prisma.event.findMany({
    where: { clientId: exactly(clientId), transferId },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take: MAX_EVENTS,
    select: { id: true },
  });
  return events.map(({ id }) => id);
}

/** Lists the events of any client's transfer, for the operator. Empty if the transfer does not exist. */
export async function eventIdsOfTransfer(db: Handle, transferId: string): Promise<string[]> {
  const transfer = await db.prisma.transfer.findUnique({ where: { id: transferId }, select: { clientId: true } });
  if (!transfer) return [];
  const { clientId } = transfer;
  const events = await db.prisma.event.findMany({ where: { clientId, transferId }, select: { id: true } });
  return events.map(({ id }) => id);
}

export interface OperatorFilters {
  status?: DeliveryStatus | undefined;
  clientId?: string | undefined;
  endpointId?: string | undefined;
  /** Only deliveries of these events; undefined: of all events. */
  eventIds?: readonly string[] | undefined;
  /** Only deliveries made at or after this time, ms since 1970. */
  since?: number | undefined;
  /** Only deliveries with ids below this one: the last of the previous page. */
  before?: string | undefined;
  take: number;
}

/** Lists the newest deliveries of all clients, of one client or of one endpoint, for the operator. */
export async function listDeliveriesForOperator(db: Handle, filters: OperatorFilters): Promise<DeliveryRecord[]> {
  return withLastAttempts(db, await rowsOf(db, filters));
}

async function rowsOf(db: Handle, filters: OperatorFilters): Promise<DeliveryRow[]> {
  const { eventIds, take } = filters;
  const id = idsOf(filters);
  const order = { orderBy: { id: 'desc' as const }, take, include: WITH_CONTEXT };
  if (eventIds !== undefined) {
    // An event has few deliveries, so that no other filter makes this slow.
    const where = { ...given(filters), eventId: { in: [...eventIds] }, id };
    return db.prisma.delivery.findMany({ where, ...order });
  }
  const newest = await newestOf(db, filters);
  return db.prisma.delivery.findMany({ where: { id: newest ? { in: newest } : id }, ...order });
}

const idsOf = ({ since = 0, before }: Omit<OperatorFilters, 'take'>) => idBounds({ createdAfter: since - 1, before });

/** Deliveries beyond a page that are counted. */
export const COUNTED_MORE = 1_000;

/** Counts the deliveries that `listDeliveriesForOperator` would list; above `COUNTED_MORE`, one more than it. */
export async function countDeliveriesForOperator(db: Handle, filters: Omit<OperatorFilters, 'take'>): Promise<number> {
  const { eventIds, status, clientId = null, endpointId = null } = filters;
  const take = COUNTED_MORE + 1;
  const id = idsOf(filters);
  const ofAll = status === undefined && clientId === null && endpointId === null;
  if (eventIds !== undefined || ofAll) {
    const where = { ...given(filters), ...(eventIds && { eventId: { in: [...eventIds] } }), id };
    return db.prisma.delivery.count({ where, orderBy: { id: 'desc' }, take });
  }
  const statuses = status ? [status] : Object.values(DeliveryStatus);
  const [row] = await db.query<{ count: number }>(COUNT, [statuses, clientId, endpointId, id.gte, take, id.lt]);
  return row?.count ?? 0;
}

function given({ status, clientId, endpointId }: Omit<OperatorFilters, 'take'>) {
  return {
    ...(status !== undefined && { status }),
    ...(clientId !== undefined && { clientId }),
    ...(endpointId !== undefined && { endpointId }),
  };
}

/** @returns undefined if the time is the only filter: the order of the ids is the order of time */
async function newestOf(db: Handle, filters: OperatorFilters): Promise<string[] | undefined> {
  const { status, clientId = null, endpointId = null, take } = filters;
  const { gte, lt } = idsOf(filters);
  const ofAll = clientId === null && endpointId === null;
  if (ofAll && status === undefined) return undefined;
  const rows =
    ofAll && (status === 'failed' || status === 'cancelled')
      ? await db.query<{ id: string }>(NEWEST_ENDED, [status, gte, take, lt])
      : await db.query<{ id: string }>(NEWEST, [
          status ? [status] : Object.values(DeliveryStatus),
          clientId,
          endpointId,
          gte,
          take,
          lt,
        ]);
  return rows.map(({ id }) => id);
}

/**
 * Uses the partial index on failed and cancelled deliveries. The range and the sort by the status make Postgres choose
 * it (see `exactly`).
 */
const NEWEST_ENDED = `
select id from deliveries
 where status in ('failed', 'cancelled') and status >= $1::delivery_status and status <= $1::delivery_status
   and id >= $2::uuid and id < $4::uuid
 order by status, id desc limit $3::int`;

/** The ranges of the index on (endpoint, status, id) that the filters leave. */
const RANGES = 'webhook_endpoints e cross join unnest($1::delivery_status[]) as s(status)';
const OWNED = '($2::uuid is null or e.client_id = $2::uuid) and ($3::uuid is null or e.id = $3::uuid)';
const WITHIN = 'id >= $4::uuid and id < $6::uuid';

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
   where ${OWNED}
   order by d.id desc limit $5::int
)
select d.id
  from newest n cross join lateral (
    ${newestDeliveries('id', { endpoint: 'n.endpoint_id', status: 'n.status', within: WITHIN, limit: '$5::int' })}) d
 order by d.id desc limit $5::int`;

/** Stops at the limit, whatever the order of the endpoints. */
const COUNT = `
select count(*)::int as count
  from (select from ${RANGES}
         cross join lateral (
           ${newestDeliveries('', { endpoint: 'e.id', status: 's.status', within: WITHIN, limit: '$5::int' })}) d
         where ${OWNED} limit $5::int) counted`;
