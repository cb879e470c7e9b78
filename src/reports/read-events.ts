import { getEndpoint, type PublicEndpoint, withEndpoints } from '../endpoints/endpoints.js';
import { newestDeliveries } from '../endpoints/health.js';
import { LEFT_JOIN_DELIVERY, LOOKED_AT, readWithinLimits } from '../endpoints/window.js';
import { type Handle, rowOf } from '../platform/database/database.js';
import type { Delivery, Event, Prisma } from '../platform/database/generated/client.js';
import type { DeliveryStatus } from '../platform/database/generated/enums.js';
import { exactly, type IdRange, idBounds, idsWithin, lowestIdAt, timeOf } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { SHOWN_ATTEMPTS } from '../platform/vocabulary.js';
import { type LastAttempt, readAttemptSummaries } from './read-deliveries.js';

export interface EventRecord extends Pick<Event, 'id' | 'body'> {
  /** Number of its deliveries in each status. */
  deliveries: Record<DeliveryStatus, number>;
}

interface EventFilters extends IdRange {
  type?: string | undefined;
  transferId?: string | undefined;
  /** Only events with a delivery of this status. */
  outcome?: DeliveryStatus | undefined;
  take: number;
}

/** Lists a client's events, newest first. */
export async function listEvents(
  db: Handle,
  clientId: string,
  { type, transferId, outcome, take, ...range }: EventFilters,
): Promise<EventRecord[]> {
  if (outcome !== undefined && transferId === undefined) {
    const ids = await newestWithOutcome(db, clientId, { ...range, type, outcome, take });
    return readEventRecords(db, clientId, ids);
  }
  const records = await findRecords(db, {
    where: { ...of(clientId, type, transferId), id: idsWithin(range) },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take,
  });
  // A transfer has few events.
  return outcome === undefined ? records : records.filter(({ deliveries }) => deliveries[outcome] > 0);
}

interface FeedFilters extends Omit<EventFilters, 'outcome' | 'before'> {
  /** Only ids above this one. */
  after: string | undefined;
  /** Only events of a time before this, ms since 1970: until then, all are committed (`CommittedUntil`). */
  until: number;
}

/** Lists a client's events, oldest first. The order is that of the index, read backwards. */
export async function listEventsOldestFirst(
  db: Handle,
  clientId: string,
  { type, transferId, after, until, take, createdBefore = until, createdAfter }: FeedFilters,
): Promise<EventRecord[]> {
  const range = idsWithin({ createdAfter, createdBefore: Math.min(until, createdBefore) });
  return findRecords(db, {
    where: { ...of(clientId, type, transferId), id: { ...range, ...(after !== undefined && { gt: after }) } },
    orderBy: [{ clientId: 'desc' }, { id: 'asc' }],
    take,
  });
}

const of = (clientId: string, type: string | undefined, transferId: string | undefined) => ({
  clientId: exactly(clientId),
  ...(type !== undefined && { type }),
  ...(transferId !== undefined && { transferId }),
});

/**
 * The ids of the newest events with a delivery of a status: the newest such deliveries of each endpoint, merged. The id
 * of a delivery has the millisecond of its event's, so that both lists have one order but for events of one
 * millisecond, for which more deliveries are read than the page has.
 */
async function newestWithOutcome(
  db: Handle,
  clientId: string,
  { type, outcome, take, before, ...times }: EventFilters,
): Promise<string[]> {
  const { gte, lt } = idBounds({ ...times, before: before && lowestIdAt(timeOf(before) + 1) });
  const values = [clientId, gte, lt, before ?? lt, outcome, take + SAME_MILLISECOND, take, type ?? null];
  const rows = await db.query<{ id: string }>(NEWEST_WITH_OUTCOME, values);
  return rows.map(({ id }) => id);
}

/** Events of a client in one millisecond. */
const SAME_MILLISECOND = 25;

/** The type is compared row by row, so that Postgres never reads all events of the type. */
const OF_TYPE = '($8::text is null or (select v.type from events v where v.id = event_id) = $8)';

const NEWEST_WITH_OUTCOME = `
select distinct d.event_id::text as id
  from (select id from webhook_endpoints where client_id = $1::uuid and deleted_at is null
        union all select id from webhook_endpoints where client_id = $1::uuid and deleted_at is not null) e
 cross join lateral (
   ${newestDeliveries('event_id', { endpoint: 'e.id', status: '$5::delivery_status', within: `id >= $2::uuid and id < $3::uuid and ${OF_TYPE}`, limit: '$6::int' })}) d
 where d.event_id < $4::uuid
 order by id desc limit $7::int`;

/** Reads a client's events of these ids, newest first. */
export function readEventRecords(db: Handle, clientId: string, ids: readonly string[]): Promise<EventRecord[]> {
  return findRecords(db, { where: { id: { in: [...ids] }, clientId }, orderBy: { id: 'desc' } });
}

/** @throws Refusal not_found */
export async function getEvent(db: Handle, clientId: string, id: string): Promise<EventRecord> {
  const [event] = await readEventRecords(db, clientId, [id]);
  if (!event) throw new Refusal('not_found', 'There is no such event.');
  return event;
}

async function findRecords(db: Handle, query: Prisma.EventFindManyArgs): Promise<EventRecord[]> {
  const events = await db.prisma.event.findMany({ ...query, select: { id: true, body: true } });
  const records = new Map(
    events.map((event) => [event.id, { ...event, deliveries: { pending: 0, succeeded: 0, failed: 0, cancelled: 0 } }]),
  );
  if (records.size === 0) return [];
  const groups = await db.prisma.delivery.groupBy({
    by: ['eventId', 'status'],
    where: { eventId: { in: [...records.keys()] } },
    _count: true,
  });
  for (const { eventId, status, _count } of groups) {
    const record = records.get(eventId);
    if (record) record.deliveries[status] = _count;
  }
  return [...records.values()];
}

/** A delivery with what was attempted and where to. */
export type TimelineDelivery = Delivery & {
  endpoint: Pick<PublicEndpoint, 'id' | 'url' | 'description' | 'enabled' | 'disabledReason' | 'deletedAt'>;
  /** The latest `SHOWN_ATTEMPTS`, oldest first. */
  attempts: readonly LastAttempt[];
};

const EVENT = { id: true, type: true, transferId: true, body: true, createdAt: true } as const;

/**
 * Reads an event and a page of its deliveries, with summaries of their attempts: four statements for any number of
 * them.
 * @param range.after only deliveries made after this one, the last of the page before
 * @throws Refusal not_found
 */
export async function readEventTimeline(
  db: Handle,
  clientId: string,
  eventId: string,
  { after, from, take }: { after?: string | undefined; from?: string; take: number },
) {
  const event = await db.prisma.event.findFirst({ where: { id: eventId, clientId }, select: EVENT });
  if (!event) throw new Refusal('not_found', 'There is no such event.');
  const deliveries = await db.prisma.delivery.findMany({
    where: { eventId, clientId, ...(from ? { id: { gte: from } } : after !== undefined && { id: { gt: after } }) },
    orderBy: { id: 'asc' },
    take,
  });
  const attempts = await readAttemptSummaries(db, deliveries, SHOWN_ATTEMPTS);
  const rows = await withEndpoints(db, deliveries);
  return { event, deliveries: rows.map((row) => ({ ...row, attempts: attempts.get(row.id) ?? [] })) };
}

/** Finds the event that an id of an event or of a delivery leads to. */
export async function findEventOf(db: Handle, clientId: string, id: string) {
  const event = await db.prisma.event.findFirst({ where: { id, clientId }, select: { id: true } });
  if (event) return { eventId: event.id, deliveryId: null };
  const delivery = await db.prisma.delivery.findFirst({ where: { id, clientId }, select: { eventId: true } });
  return delivery ? { eventId: delivery.eventId, deliveryId: id } : undefined;
}

interface MissingFilters extends Omit<EventFilters, 'outcome'> {
  endpointId: string;
}

/**
 * Lists a client's events that have no delivery for an endpoint, newest first, one less than `take`. A page looks at
 * `LOOKED_AT` events at most, so that it may be short or empty although more follow.
 * @returns also the event after which the next page starts; null: nothing is left to look at
 * @throws Refusal not_found | statement_limit_reached | unavailable
 */
export async function listMissing(
  db: Handle,
  clientId: string,
  { endpointId, type, transferId, take, ...range }: MissingFilters,
) {
  await getEndpoint(db, clientId, endpointId);
  const { gte, lt } = idBounds(range);
  const values = [endpointId, clientId, gte, lt, LOOKED_AT, take - 1, type ?? null, transferId ?? null];
  return readWithinLimits(db, clientId, async (tx) => {
    const { ids, next } = await rowOf<{ ids: string[]; next: string | null }>(tx, LIST_MISSING, values);
    return { events: await readEventRecords(tx, clientId, ids), next };
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
