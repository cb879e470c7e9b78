import { ladderFromText } from '../../workflows/ladder.js';
import { withEndpoints } from '../endpoints/endpoints.js';
import { newestDeliveries } from '../endpoints/health.js';
import type { Handle } from '../platform/database/database.js';
import type { Attempt, Delivery, Endpoint, Prisma } from '../platform/database/generated/client.js';
import { DeliveryStatus } from '../platform/database/generated/enums.js';
import { exactly, type IdRange, idBounds } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { ATTEMPT_ERRORS, type AttemptError, SHOWN_ATTEMPTS, type Trigger } from '../platform/vocabulary.js';

/** A delivery's row, what its endpoint is called and what its event says. */
export type DeliveryRow = Prisma.DeliveryGetPayload<{ include: typeof WITH_EVENT }> & {
  endpoint: Pick<Endpoint, 'url' | 'description'>;
};

/** A delivery as lists and responses to retries show it. */
export type DeliveryRecord = DeliveryRow & { lastAttempt: LastAttempt | null };

/**
 * A delivery as its own page shows it: with the latest `SHOWN_ATTEMPTS`, oldest first, and the attempts that are left.
 */
export type DeliveryWithAttempts = Awaited<ReturnType<typeof getDeliveryWithAttempts>>;

const WITH_EVENT = {
  event: { select: { type: true, transferId: true, body: true } },
} as const;

/** Adds its last attempt to each delivery. */
async function withLastAttempts(db: Handle, rows: readonly DeliveryRow[]): Promise<DeliveryRecord[]> {
  const attempts = await readAttemptSummaries(db, rows, 1);
  return rows.map((row) => ({ ...row, lastAttempt: attempts.get(row.id)?.[0] ?? null }));
}

/** @throws Refusal not_found */
export async function getDelivery(db: Handle, clientId: string, id: string): Promise<DeliveryRecord> {
  const [record] = await withLastAttempts(db, [await getRow(db, clientId, id)]);
  return record as DeliveryRecord;
}

/**
 * @param clientId the client that must own the delivery; null: any client (the operator)
 * @throws Refusal not_found
 */
export async function getDeliveryWithAttempts(db: Handle, clientId: string | null, id: string) {
  const row = await getRow(db, clientId, id);
  // An attempt recorded after the row was read would contradict the row.
  const newestFirst = await listAttempts(db, id, { before: row.attemptCount + 1, take: SHOWN_ATTEMPTS });
  return { ...row, attempts: newestFirst.reverse(), planned: plannedAttempts(row) };
}

async function getRow(db: Handle, clientId: string | null, id: string): Promise<DeliveryRow> {
  const where = { id, ...(clientId !== null && { clientId }) };
  const found = await db.prisma.delivery.findFirst({ where, include: WITH_EVENT });
  const [row] = found ? await withEndpoints(db, [found]) : [];
  if (!row) throw new Refusal('not_found', 'There is no such delivery.');
  return row;
}

/** An attempt as lists show it: without URL, response headers and response body, so that a page stays small. */
export interface LastAttempt extends Pick<Attempt, 'number' | 'startedAt' | 'durationMs' | 'responseStatus'> {
  trigger: Trigger;
  error: AttemptError | null;
}

/**
 * Reads the latest `most` attempts of each delivery, oldest first: one statement, one index range for each delivery. It
 * ignores attempts after the `attemptCount` already read, so that the two agree while another attempt is recorded.
 * @returns by the delivery's id; a delivery without attempts has no entry
 */
export async function readAttemptSummaries(
  db: Handle,
  deliveries: readonly { id: string; attemptCount: number }[],
  most: number,
): Promise<ReadonlyMap<string, LastAttempt[]>> {
  const attempted = deliveries.filter(({ attemptCount }) => attemptCount > 0);
  if (attempted.length === 0) return new Map();
  const [ids, counts] = [attempted.map(({ id }) => id), attempted.map(({ attemptCount }) => attemptCount)];
  const rows = await db.query<LastAttempt & { deliveryId: string }>(SUMMARIES, [ids, counts, most]);
  return Map.groupBy(rows, ({ deliveryId }) => deliveryId);
}

/** Without the receiver's headers and body. */
const SUMMARIES = `
select d.id::text as "deliveryId", a.*
  from unnest($1::uuid[], $2::int[]) as d(id, attempt_count)
 cross join lateral (
   select number, trigger, started_at as "startedAt", duration_ms as "durationMs",
          response_status as "responseStatus", error
     from attempts where delivery_id = d.id and number <= d.attempt_count
    order by number desc limit $3::int) a
 order by d.id, a.number`;

/**
 * Lists a delivery's attempts, newest first. The caller has checked that the delivery belongs to the client.
 * @param range.before only attempts with a lower number: the last number of the previous page
 */
export function listAttempts(
  db: Handle,
  deliveryId: string,
  { before, take }: { before?: number | undefined; take: number },
): Promise<Attempt[]> {
  return db.prisma.attempt.findMany({
    where: { deliveryId, ...(before !== undefined && { number: { lt: before } }) },
    orderBy: { number: 'desc' },
    take,
  });
}

/**
 * The attempts that are left if each fails at once, by the ladder that the delivery started with. The first is at
 * `nextAttemptAt`. A manual retry is none of them: it takes the next number and leaves their times. None is left once
 * the delivery has ended.
 */
export function plannedAttempts(
  delivery: Pick<Delivery, 'status' | 'attemptCount' | 'rung' | 'ladder' | 'nextAttemptAt'>,
) {
  const { status, attemptCount, nextAttemptAt, ladder, rung } = delivery;
  if (status !== 'pending' || nextAttemptAt === null) return [];
  let at = nextAttemptAt.getTime();
  return [0, ...ladderFromText(ladder).slice(rung)].map((delay, i) => {
    at += delay;
    return { number: attemptCount + 1 + i, at: new Date(at) };
  });
}

/** The deliveries that a list has; undefined: of every status, endpoint, event or transfer. */
interface DeliveryFilters extends IdRange {
  status?: DeliveryStatus | undefined;
  endpointId?: string | undefined;
  eventId?: string | undefined;
  transferId?: string | undefined;
  take: number;
}

/**
 * Lists deliveries, newest first, with those of deleted endpoints.
 * @param clientId null: of all clients, for the operator
 */
export async function listDeliveries(
  db: Handle,
  clientId: string | null,
  filters: DeliveryFilters,
): Promise<DeliveryRecord[]> {
  const ids = await newestIds(db, clientId, filters);
  return findDeliveries(db, { id: { in: ids } });
}

async function findDeliveries(db: Handle, where: Prisma.DeliveryWhereInput): Promise<DeliveryRecord[]> {
  const rows = await db.prisma.delivery.findMany({ where, orderBy: { id: 'desc' }, include: WITH_EVENT });
  return withLastAttempts(db, await withEndpoints(db, rows));
}

async function newestIds(
  db: Handle,
  clientId: string | null,
  { status, endpointId, eventId, transferId, take, ...range }: DeliveryFilters,
): Promise<string[]> {
  const ofTransfer = transferId === undefined ? undefined : await eventIdsOfTransfer(db, clientId, transferId);
  const eventIds = eventId === undefined ? ofTransfer : [eventId].filter((id) => ofTransfer?.includes(id) ?? true);
  const bounds = idBounds(range);
  // An event has few deliveries, and the order of all ids is the order of time: neither needs the index by endpoint.
  const isByIds = eventIds !== undefined || (status ?? clientId ?? endpointId ?? null) === null;
  if (!isByIds) {
    const statuses = status ? [status] : Object.values(DeliveryStatus);
    const values = [statuses, clientId, endpointId ?? null, bounds.gte, bounds.lt, take];
    return (await db.query<{ id: string }>(NEWEST, values)).map(({ id }) => id);
  }
  const where = {
    ...(status !== undefined && { status }),
    ...(clientId !== null && { clientId }),
    ...(endpointId !== undefined && { endpointId }),
    ...(eventIds !== undefined && { eventId: { in: eventIds } }),
    id: bounds,
  };
  const rows = await db.prisma.delivery.findMany({ where, orderBy: { id: 'desc' }, take, select: { id: true } });
  return rows.map(({ id }) => id);
}

/** More events than a transfer can have: each is a change of its status. */
const MAX_EVENTS = 100;

/** Lists the events of a transfer. Empty if the transfer does not exist, or belongs to another client than `of`. */
async function eventIdsOfTransfer(db: Handle, of: string | null, transferId: string): Promise<string[]> {
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

/** The ranges of the index on (endpoint, status, id) that the filters leave. */
const OWNED =
  'where ($2::uuid is null or client_id = $2::uuid) and ($3::uuid is null or id = $3::uuid) and deleted_at is';
const RANGES = `(select id from webhook_endpoints ${OWNED} null
                 union all select id from webhook_endpoints ${OWNED} not null) e
   cross join unnest($1::delivery_status[]) as s(status)`;
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
   order by d.id desc limit $6::int
)
select d.id
  from newest n cross join lateral (
    ${newestDeliveries('id', { endpoint: 'n.endpoint_id', status: 'n.status', within: WITHIN, limit: '$6::int' })}) d
 order by d.id desc limit $6::int`;

/** The last response of a delivery, as a filter: a class of statuses, a status, or an error. */
export type ResponseFilter = `${1 | 2 | 3 | 4 | 5}xx` | `${number}` | AttemptError;

/** Reads `4xx`, `401` or `timeout`; undefined for anything else. */
export function responseFilterOf(text: string): ResponseFilter | undefined {
  const isKnown = /^[1-5]xx$|^[1-9]\d\d$/.test(text) || (ATTEMPT_ERRORS as readonly string[]).includes(text);
  return isKnown ? (text as ResponseFilter) : undefined;
}

/** Reads these deliveries of a client, newest first; those that do not exist are left out. */
export function readDeliveries(db: Handle, clientId: string, ids: readonly string[]): Promise<DeliveryRecord[]> {
  return findDeliveries(db, { id: { in: [...ids] }, clientId });
}

/** Deliveries that one page looks at, at most. */
const LOOKED_AT_FOR_RESPONSE = 1_000;

/**
 * Lists a client's deliveries with this last response, newest first, among the next `LOOKED_AT_FOR_RESPONSE` of the
 * other filters.
 * @returns `nextId`: the id before which the next page starts; null: there is none
 */
export async function listDeliveriesByResponse(
  db: Handle,
  clientId: string,
  filters: DeliveryFilters & { response: ResponseFilter },
): Promise<{ records: DeliveryRecord[]; nextId: string | null }> {
  const { ids, nextId } = await idsByResponse(db, clientId, filters);
  return { records: await readDeliveries(db, clientId, ids), nextId };
}

async function idsByResponse(
  db: Handle,
  clientId: string,
  { response, take, ...filters }: DeliveryFilters & { response: ResponseFilter },
): Promise<{ ids: string[]; nextId: string | null }> {
  const looked = await newestIds(db, clientId, { ...filters, take: LOOKED_AT_FOR_RESPONSE });
  const [low, high] = /^\d/.test(response)
    ? [Number(response.replace('xx', '00')), Number(response.replace('xx', '99'))]
    : [null, null];
  const error = low === null ? response : null;
  const matching = await db.query<{ id: string }>(WITH_RESPONSE, [looked, low, high, error, take]);
  const ids = matching.map(({ id }) => id);
  const last = ids.length === take ? ids.at(-1) : looked[LOOKED_AT_FOR_RESPONSE - 1];
  return { ids, nextId: last ?? null };
}

/**
 * Lists the ids of a client's events with such a delivery, newest first, as `listDeliveriesByResponse` lists the
 * deliveries.
 * @param filters.response undefined: with any or none
 * @returns `nextId`: the id of the delivery before which the next page starts; null: there is none
 */
export async function listEventIdsByDelivery(
  db: Handle,
  clientId: string,
  { response, ...filters }: DeliveryFilters & { response: ResponseFilter | undefined },
): Promise<{ eventIds: string[]; nextId: string | null }> {
  const byResponse = response && (await idsByResponse(db, clientId, { ...filters, response }));
  const ids = byResponse?.ids ?? (await newestIds(db, clientId, filters));
  const found = await db.prisma.delivery.findMany({ where: { id: { in: ids } }, select: { eventId: true } });
  const full = ids.length === filters.take ? (ids.at(-1) ?? null) : null;
  return { eventIds: [...new Set(found.map(({ eventId }) => eventId))], nextId: byResponse?.nextId ?? full };
}

const WITH_RESPONSE = `
select asked.id::text
  from unnest($1::uuid[]) as asked(id)
 cross join lateral (
   select response_status, error from attempts where delivery_id = asked.id order by number desc limit 1) a
 where case when $2::int is null then a.error = $4::text else a.response_status between $2::int and $3::int end
 order by asked.id desc limit $5::int`;
