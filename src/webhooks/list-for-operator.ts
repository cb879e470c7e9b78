import type { Handle } from '../database/database.js';
import { DeliveryStatus } from '../database/generated/enums.js';
import { lowestIdAt } from '../ids.js';
import { type DeliveryRecord, type DeliveryRow, WITH_URL, withLastAttempts } from './read-deliveries.js';

export interface OperatorFilters {
  status?: DeliveryStatus | undefined;
  clientId?: string | undefined;
  endpointId?: string | undefined;
  /** Of these events; undefined: of all. */
  eventIds?: readonly string[] | undefined;
  /** Made at or after this, ms since 1970. */
  since?: number | undefined;
  take: number;
}

/** The newest deliveries of all clients, of one, or to one endpoint: for the operator. */
export async function listDeliveriesForOperator(db: Handle, filters: OperatorFilters): Promise<DeliveryRecord[]> {
  return withLastAttempts(db, await rowsOf(db, filters));
}

async function rowsOf(db: Handle, filters: OperatorFilters): Promise<DeliveryRow[]> {
  const { eventIds, since = 0, take } = filters;
  const from = lowestIdAt(since);
  const order = { orderBy: { id: 'desc' as const }, take, include: WITH_URL };
  if (eventIds !== undefined) {
    // However many there are of the others: an event has few.
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

/** Undefined where nothing but the time is asked for, which is the order of the ids itself. */
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

/** By their own partial index; a range and a sort by the status, so that it is taken (see `exactly`). */
const NEWEST_ENDED = `
select id from deliveries
 where status in ('failed', 'cancelled') and status >= $1::delivery_status and status <= $1::delivery_status and id >= $2::uuid
 order by status, id desc limit $3::int`;

/**
 * By the index on (endpoint, status, id), whatever the filter: the newest N of all are among those of the N endpoints
 * whose own newest are the newest. So it costs a look at each endpoint, and never a walk past a million of other rows.
 */
const NEWEST = `
with newest as (
  select e.id as endpoint_id, s.status, d.id
    from webhook_endpoints e
    cross join unnest($1::delivery_status[]) as s(status)
    cross join lateral (
      select id from deliveries where endpoint_id = e.id and status = s.status and id >= $4::uuid order by id desc limit 1) d
   where ($2::uuid is null or e.client_id = $2::uuid) and ($3::uuid is null or e.id = $3::uuid)
   order by d.id desc limit $5::int
)
select d.id
  from newest n cross join lateral (
    select id from deliveries where endpoint_id = n.endpoint_id and status = n.status and id >= $4::uuid
     order by id desc limit $5::int) d
 order by d.id desc limit $5::int`;
