import type { Handle } from '../database/database.js';
import { idBounds } from '../ids.js';
import { LEFT_JOIN_DELIVERY, LOOKED_AT } from './deliver-missing.js';
import { getEndpoint } from './endpoints.js';
import { type EventRecord, readEventRecords } from './read-events.js';
import { readWithinLimits } from './statement-limit.js';

export interface MissingFilters {
  endpointId: string;
  /** ms since 1970, exclusive, as in every list. */
  createdAfter: number;
  createdBefore: number;
  type?: string | undefined;
  transferId?: string | undefined;
  /** Only ids below this one, the last that the page before looked at. */
  before: string | undefined;
  /** Most events of the page. */
  limit: number;
}

/** `next`: the event after which the next page starts; null: nothing is left to look at. */
export interface MissingPage {
  events: EventRecord[];
  next: string | null;
}

/**
 * Lists a client's events that have no delivery for an endpoint, newest first. A page looks at `LOOKED_AT` events at
 * most, so that it may be short or empty although more follow.
 * @throws Refusal not_found | statement_limit_reached | unavailable
 */
export async function listMissing(db: Handle, clientId: string, filters: MissingFilters): Promise<MissingPage> {
  const { endpointId, createdAfter, createdBefore, type = null, transferId = null, before, limit } = filters;
  await getEndpoint(db, clientId, endpointId);
  const { gte, lt } = idBounds({ createdAfter, createdBefore, before });
  const values = [endpointId, clientId, gte, lt, LOOKED_AT, limit, type, transferId];
  return readWithinLimits(db, clientId, async (tx) => {
    const [row] = await tx.query<{ ids: string[]; next: string | null }>(LIST_MISSING, values);
    return { events: await readEventRecords(tx, clientId, row?.ids ?? []), next: row?.next ?? null };
  });
}

const RANGE = `
  v.client_id >= $2::uuid and v.client_id <= $2::uuid and v.id >= $3::uuid and v.id < $4::uuid
   order by v.client_id, v.id desc`;

/** Events are read in the order of their index, one after another, until the page is full. */
const LIST_MISSING = `
with missing as materialized (
  select l.id
    from (select v.client_id, v.id, v.type, v.transfer_id from events v where ${RANGE} limit $5::int) l${LEFT_JOIN_DELIVERY}
   where d.id is null and ($7::text is null or l.type = $7) and ($8::uuid is null or l.transfer_id = $8)
   order by l.client_id, l.id desc limit $6::int
)
select (select coalesce(json_agg(id order by id desc), '[]') from missing) as ids,
       case when (select count(*) from missing) = $6::int then (select min(id::text) from missing)
            else (select v.id::text from events v where ${RANGE} offset $5::int - 1 limit 1) end as next`;
