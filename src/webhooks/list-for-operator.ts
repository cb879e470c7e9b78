import type { Handle } from '../database/database.js';
import { DeliveryStatus } from '../database/generated/enums.js';
import { lowestIdAt } from '../ids.js';
import { newestDeliveries } from './newest-deliveries.js';
import { type DeliveryRecord, type DeliveryRow, WITH_CONTEXT, withLastAttempts } from './read-deliveries.js';

export interface OperatorFilters {
  status?: DeliveryStatus | undefined;
  clientId?: string | undefined;
  endpointId?: string | undefined;
  /** Only deliveries of these events; undefined: of all events. */
  eventIds?: readonly string[] | undefined;
  /** Only deliveries made at or after this time, ms since 1970. */
  since?: number | undefined;
  take: number;
}

/** Lists the newest deliveries of all clients, of one client or of one endpoint, for the operator. */
export async function listDeliveriesForOperator(db: Handle, filters: OperatorFilters): Promise<DeliveryRecord[]> {
  return withLastAttempts(db, await rowsOf(db, filters));
}

async function rowsOf(db: Handle, filters: OperatorFilters): Promise<DeliveryRow[]> {
  const { eventIds, since = 0, take } = filters;
  const from = lowestIdAt(since);
  const order = { orderBy: { id: 'desc' as const }, take, include: WITH_CONTEXT };
  if (eventIds !== undefined) {
    // An event has few deliveries, so that no other filter makes this slow.
    const where = { ...given(filters), eventId: { in: [...eventIds] }, id: { gte: from } };
    return db.prisma.delivery.findMany({ where, ...order });
  }
  const newest = await newestOf(db, filters, from);
  return db.prisma.delivery.findMany({ where: { id: newest ? { in: newest } : { gte: from } }, ...order });
}

function given({ status, clientId, endpointId }: OperatorFilters) {
  return {
    ...(status !== undefined && { status }),
    ...(clientId !== undefined && { clientId }),
    ...(endpointId !== undefined && { endpointId }),
  };
}

/** @returns undefined if the time is the only filter: the order of the ids is the order of time */
async function newestOf(db: Handle, filters: OperatorFilters, from: string): Promise<string[] | undefined> {
  const { status, clientId = null, endpointId = null, take } = filters;
  const ofAll = clientId === null && endpointId === null;
  if (ofAll && status === undefined) return undefined;
  const rows =
    ofAll && (status === 'failed' || status === 'cancelled')
      ? await db.query<{ id: string }>(NEWEST_ENDED, [status, from, take])
      : await db.query<{ id: string }>(NEWEST, [
          status ? [status] : Object.values(DeliveryStatus),
          clientId,
          endpointId,
          from,
          take,
        ]);
  return rows.map(({ id }) => id);
}

/**
 * Uses the partial index on failed and cancelled deliveries. The range and the sort by the status make Postgres choose
 * it (see `exactly`).
 */
const NEWEST_ENDED = `
select id from deliveries
 where status in ('failed', 'cancelled') and status >= $1::delivery_status and status <= $1::delivery_status and id >= $2::uuid
 order by status, id desc limit $3::int`;

/**
 * Uses the index on (endpoint, status, id) for every filter. The newest N deliveries belong to the N endpoints with the
 * newest own deliveries. The statement therefore reads one row of each endpoint, and never scans a million other rows.
 */
const NEWEST = `
with newest as (
  select e.id as endpoint_id, s.status, d.id
    from webhook_endpoints e
    cross join unnest($1::delivery_status[]) as s(status)
    cross join lateral (
      ${newestDeliveries('id', { endpoint: 'e.id', status: 's.status', within: 'id >= $4::uuid', limit: 1 })}) d
   where ($2::uuid is null or e.client_id = $2::uuid) and ($3::uuid is null or e.id = $3::uuid)
   order by d.id desc limit $5::int
)
select d.id
  from newest n cross join lateral (
    ${newestDeliveries('id', { endpoint: 'n.endpoint_id', status: 'n.status', within: 'id >= $4::uuid', limit: '$5::int' })}) d
 order by d.id desc limit $5::int`;
