import type { Handle } from '../database/database.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { type IdRange, idBounds } from '../ids.js';

/**
 * SQL: the newest deliveries of an endpoint, of one status or of all. Only the index on (endpoint, status, id) or on
 * (endpoint, id) has their order: its column before the id is compared as a range (see `exactly`).
 * @param of.endpoint of.status of.limit SQL expressions
 * @param of.within a condition on the id
 */
export function newestDeliveries(
  columns: string,
  of: { endpoint: string; status?: string | undefined; within?: string; limit: string | number },
): string {
  const { endpoint, status, within = 'true', limit } = of;
  const [owned, order] =
    status === undefined
      ? [`endpoint_id >= ${endpoint} and endpoint_id <= ${endpoint}`, 'endpoint_id']
      : [`endpoint_id = ${endpoint} and status >= ${status} and status <= ${status}`, 'status'];
  return `select ${columns} from deliveries where ${owned} and ${within} order by ${order}, id desc limit ${limit}`;
}

export interface DeliveryRange extends IdRange {
  status?: DeliveryStatus | undefined;
  /** One endpoint; undefined: all that are not deleted. */
  endpointId?: string | undefined;
  take: number;
}

/** More endpoints than a client has by default. */
const MAX_ENDPOINTS = 100;

/** The ids of a client's newest deliveries: the newest of each endpoint, merged. */
export async function newestDeliveryIds(db: Handle, clientId: string, range: DeliveryRange): Promise<string[]> {
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
