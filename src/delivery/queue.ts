import { ACTIVE, CANCELLED, CANCELLED_BECAUSE, endFirstAttempts } from '../endpoints/disable.js';
import type { Handle } from '../platform/database/database.js';
import { NIL_ID } from '../platform/ids.js';
import type { LeasedAttempt } from './handover.js';

/**
 * The time for which one process holds a row that waits for work: a queued attempt, an event that waits for its workflow,
 * a workflow that waits for its start. Times are on Postgres's clock.
 */
export const LEASE = {
  seconds: 30,
  /** No attempt starts with less time left than this, ms: it takes up to 15 s, and a second for the body. */
  leastLeft: 20_000,
} as const;

/**
 * SQL: whether a lease has ended or was never given. Each lasts for `LEASE.seconds`. One that ends after more than twice
 * that time was given by another clock, before Postgres was restored or failed over to a machine whose clock is behind.
 * No process holds it.
 */
export function isFree(column: string): string {
  return `(${column} is null or ${column} <= now() or ${column} > now() + interval '${2 * LEASE.seconds} seconds')`;
}

/**
 * The queue: a row for each attempt that is due, whatever its reason. The row is inserted with its delivery, or when a
 * sleeping delivery comes due, and deleted by the record of the attempt. A lease is (token, time): the token names the
 * process, and no other process leases the row before the time, on Postgres's clock. When a lease ends, the row is free.
 * The two together tell a lease from every other of the row.
 *
 * Locks are taken in this order: endpoint, deliveries by id, queue, events by id.
 */

/** Lines whose heads one scan looks at. The next scan continues after the last of them. */
export const HEADS = 200;
/** Attempts that one statement leases. */
export const BATCH = 200;

/** The end of a line of the queue, in the order of its index. */
export type Cursor = Pick<LeasedAttempt, 'endpointId' | 'line'>;

/** How many attempts of an endpoint this process takes now, 0 for none. */
export interface Allowance {
  endpointId: string;
  attempts: number;
}

export interface LeaseRequest {
  token: string;
  allowances: readonly Allowance[];
  limit: number;
}

/** A leased row. `isDue` false: its endpoint is inactive, or its delivery was cancelled; see `dropUndue`. */
export interface LeasedRow extends LeasedAttempt {
  isDue: boolean;
}

/**
 * Leases attempts from the heads of up to `HEADS` lines after the cursor. `next` null: no line follows.
 * @param request.attempts the most attempts of a line whose endpoint `allowances` does not name
 */
export async function leaseHeads(
  db: Handle,
  request: LeaseRequest & { attempts: number },
  after: Cursor | null,
): Promise<{ leased: LeasedRow[]; next: Cursor | null }> {
  const [row] = await db.query<{ leased: LeasedRow[]; heads: number; last: Cursor | null }>(LEASE_HEADS, [
    ...valuesOf(request),
    request.attempts,
    after?.endpointId ?? NIL_ID,
    after?.line ?? 'fresh',
  ]);
  return { leased: row?.leased ?? [], next: row && row.heads === HEADS ? row.last : null };
}

/** Leases attempts of the endpoints that the request's `allowances` name. */
export function leaseOfEndpoints(db: Handle, request: LeaseRequest): Promise<LeasedRow[]> {
  return db.query<LeasedRow>(LEASE_OF_ENDPOINTS, valuesOf(request));
}

/** Leases attempts by the ids of their deliveries, where they are free. */
export function leaseById(db: Handle, token: string, deliveryIds: readonly string[]): Promise<LeasedRow[]> {
  return db.query<LeasedRow>(LEASE_BY_ID, [token, deliveryIds]);
}

/** A lease of this process. `leasedUntil` null: whichever it has of the delivery. */
export type Lease = Pick<LeasedAttempt, 'deliveryId'> & { leasedUntil: string | null };

/** Whether an attempt waits in the queue, and whether a process has leased it. Undefined: it is recorded. */
export async function readLease(db: Handle, deliveryId: string): Promise<{ isLeased: boolean } | undefined> {
  const [row] = await db.query<{ isLeased: boolean }>(
    `select not ${isFree('lease_until')} as "isLeased" from queue where delivery_id = $1::uuid`,
    [deliveryId],
  );
  return row;
}

/**
 * Gives leases back. Another process, or this one, leases the rows again. A statement that Postgres held up gives back
 * no later lease of the same process.
 */
export async function giveBack(db: Handle, token: string, leases: readonly Lease[]): Promise<void> {
  const ids = leases.map(({ deliveryId }) => deliveryId);
  await db.query(GIVE_BACK, [token, ids, leases.map(({ leasedUntil }) => leasedUntil)]);
}

/**
 * Ends the leases whose time is over: their process was killed. A row without a delivery leaves the queue: retention removed
 * the delivery at the moment of a manual retry, and no lease finds anything to make. @returns whether a lease was ended
 */
export async function freeExpired(db: Handle): Promise<boolean> {
  const [row] = await db.query<{ freed: number }>(FREE_EXPIRED, []);
  return (row?.freed ?? 0) > 0;
}

/**
 * Takes attempts out of the queue that may not be made, unless another process has leased them meanwhile. A pending
 * delivery of an inactive endpoint is cancelled: it was inserted while the endpoint was being disabled.
 */
export async function dropUndue(db: Handle, token: string, deliveryIds: readonly string[]): Promise<void> {
  await db.query(DROP_UNDUE, [token, deliveryIds]);
}

/** Which of these attempts, leased by this process, may still be made. */
export async function areDue(db: Handle, token: string, deliveryIds: readonly string[]): Promise<boolean[]> {
  const rows = await db.hot<{ id: string }>(DUE, [token, deliveryIds]);
  const due = new Set(rows.map(({ id }) => id));
  return deliveryIds.map((id) => due.has(id));
}

/**
 * Queues the sleeping deliveries among these that are due, or will be within `early` ms.
 * @returns the ids of those that were queued
 */
export async function queueDue(db: Handle, deliveryIds: readonly string[], early: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(QUEUE_DUE, [deliveryIds, early]);
  return rows.map(({ id }) => id);
}

/**
 * Queues sleeping deliveries that are overdue, and asks for the workflows of their events, which are lost or stand still.
 * @param overdue ms
 * @returns their number, at most `limit`
 */
export async function queueOverdue(db: Handle, overdue: number, limit: number): Promise<number> {
  const [row] = await db.query<{ queued: number }>(QUEUE_OVERDUE, [overdue, limit]);
  return row?.queued ?? 0;
}

/** SQL: the lease of the process `$1`. */
export const NEW_LEASE = `lease_token = $1::uuid, lease_until = now() + interval '${LEASE.seconds} seconds'`;
const HELD = 'lease_token = $1::uuid and lease_until is not null';

/** SQL: the rows of `queue` `q` as `LeasedRow`. A join, since the leased rows are few and every key is an id. */
const ROW = `
q.delivery_id as "deliveryId", d.event_id as "eventId", q.client_id as "clientId", q.endpoint_id as "endpointId",
q.line::text as line, d.attempt_count + 1 as number, q.trigger, e.url,
e.secret_envelope as "secretEnvelope", e.max_concurrency as "maxConcurrency", v.body, v.traceparent,
to_json(q.lease_until)#>>'{}' as "leasedUntil",
e.enabled and e.deleted_at is null and (d.status = 'pending' or q.trigger = 'manual') as "isDue"`;
const FROM = `
  from leased q
  join deliveries d on d.id = q.delivery_id
  join events v on v.id = d.event_id
  join webhook_endpoints e on e.id = q.endpoint_id`;

const leasedAs = (free: string) => `leased as (
  update queue q set ${NEW_LEASE} where q.delivery_id = any(array(${free}))
  returning q.delivery_id, q.client_id, q.endpoint_id, q.line, q.due_at, q.trigger, q.lease_until
)`;

function valuesOf({ token, allowances, limit }: LeaseRequest): unknown[] {
  return [
    token,
    allowances.map(({ endpointId }) => endpointId),
    allowances.map((allowance) => allowance.attempts),
    limit,
  ];
}

/**
 * Each line's rows are locked as they are found, so that scans of several workers at the same moment get different rows.
 * A row that is locked and not leased is free again after this statement.
 */
const FREE_OF_LINES = `
  select w.delivery_id
    from lines l cross join lateral (
      select q.delivery_id from queue q
       where q.endpoint_id = l.endpoint_id and q.line = l.line and q.lease_until is null
       order by q.due_at, q.delivery_id limit l.attempts
         for update skip locked) w
   limit $4::int`;

const KNOWN = `known as (
  select * from unnest((select $2::uuid[]), $3::int[]) as k(endpoint_id, attempts)
)`;

/** A loose index scan finds the lines. It reads one entry of the index for each, whatever the length of the line. */
const LEASE_HEADS = `
with recursive heads as (
  (select q.endpoint_id, q.line, 1 as position from queue q
    where q.lease_until is null and (q.endpoint_id, q.line) > ($6::uuid, $7::queue_line)
    order by q.endpoint_id, q.line limit 1)
  union all
  select n.endpoint_id, n.line, h.position + 1
    from heads h cross join lateral (
      select q.endpoint_id, q.line from queue q
       where q.lease_until is null and (q.endpoint_id, q.line) > (h.endpoint_id, h.line)
       order by q.endpoint_id, q.line limit 1) n
   where h.position < ${HEADS}
), ${KNOWN}, lines as materialized (
  select h.endpoint_id, h.line, coalesce(k.attempts, $5::int) as attempts
    from heads h left join known k on k.endpoint_id = h.endpoint_id
   where coalesce(k.attempts, $5::int) > 0
   order by random()
), free as materialized (${FREE_OF_LINES}
), ${leasedAs('select delivery_id from free')}, rows as (
  select ${ROW} ${FROM} order by q.due_at, q.delivery_id
)
select (select coalesce(json_agg(r), '[]') from rows r) as leased,
       (select count(*)::int from heads) as heads,
       (select json_build_object('endpointId', endpoint_id, 'line', line) from heads order by position desc limit 1) as last`;

const LEASE_OF_ENDPOINTS = `
with ${KNOWN}, lines as materialized (
  select k.endpoint_id, n.line, k.attempts
    from known k cross join (values ('fresh'::queue_line), ('late')) as n(line)
   where k.attempts > 0
   order by random()
), free as materialized (${FREE_OF_LINES}
), ${leasedAs('select delivery_id from free')}
select ${ROW} ${FROM} order by q.due_at, q.delivery_id`;

const LEASE_BY_ID = `
with free as materialized (
  select q.delivery_id from unnest((select $2::uuid[])) asked(id) join queue q on q.delivery_id = asked.id
   where ${isFree('q.lease_until')} for update of q skip locked
), ${leasedAs('select delivery_id from free')}
select ${ROW} ${FROM}`;

const GIVE_BACK = `
update queue q set lease_token = null, lease_until = null
  from unnest((select $2::uuid[]), $3::timestamptz[]) as given(delivery_id, until)
 where q.delivery_id = given.delivery_id and q.delivery_id = any(array(select unnest($2::uuid[])))
   and q.${HELD} and (given.until is null or q.lease_until = given.until)`;

const FREE_EXPIRED = `
with expired as materialized (
  select q.delivery_id, (select true from deliveries d where d.id = q.delivery_id) as kept
    from queue q where q.lease_until is not null and ${isFree('q.lease_until')}
   order by q.lease_until limit 10000 for update of q skip locked
), removed as (
  delete from queue where delivery_id = any(array(select delivery_id from expired where kept is null))
), freed as (
  update queue set lease_token = null, lease_until = null
   where delivery_id = any(array(select delivery_id from expired where kept)) returning 1
)
select count(*)::int as freed from freed`;

/**
 * The endpoints and deliveries are locked first, and judged as they are then. By its snapshot alone, this statement would
 * remove an attempt whose delivery a recovery has started again meanwhile, and nothing would make that attempt.
 */
const DROP_UNDUE = `
with endpoint as materialized (
  select e.id, ${ACTIVE} as active, ${CANCELLED_BECAUSE} as reason from webhook_endpoints e
   where e.id in (select endpoint_id from deliveries where id = any(array(select unnest($2::uuid[]))))
   order by e.id for share
), asked as materialized (
  select d.id, d.status, e.active, e.reason
    from unnest((select $2::uuid[])) a(id) join deliveries d on d.id = a.id join endpoint e on e.id = d.endpoint_id
   order by d.id for no key update of d
), cancelled as (
  update deliveries d set ${CANCELLED}, reason = a.reason
    from asked a where d.id = a.id and a.status = 'pending' and not a.active
  returning d.event_id
), ${endFirstAttempts('select event_id from cancelled')}
delete from queue q using asked a
 where q.delivery_id = a.id and (q.${HELD} or q.lease_until is null)
   and (not a.active or a.status <> 'pending' and q.trigger <> 'manual')`;

const DUE = `
select q.delivery_id as id
  from unnest((select $2::uuid[])) asked(id)
  join queue q on q.delivery_id = asked.id
  join deliveries d on d.id = q.delivery_id
  join webhook_endpoints e on e.id = q.endpoint_id
 where q.lease_token = $1::uuid and ${ACTIVE} and (d.status = 'pending' or q.trigger = 'manual')`;

/** SQL: the trigger of the attempts of the delivery `d`'s ladder. */
export const LADDER_TRIGGER = `case when d.recovered then 'recover' else 'schedule' end`;

/** SQL: a CTE that queues the deliveries of `source` in their endpoints' late line. */
export const queueLate = (source: string, dueAt: string, trigger: string) => `queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
  select id, client_id, endpoint_id, 'late', ${dueAt}, ${trigger} from ${source}
  on conflict (delivery_id) do nothing
)`;

/** SQL: moves the sleeping deliveries of `due` (id) to the queue; `woken` has a row for each. */
const wake = (due: string) => `${due}, woken as (
  update deliveries d set asleep = false from due where d.id = due.id
  returning d.id, d.event_id, d.client_id, d.endpoint_id, d.next_attempt_at, ${LADDER_TRIGGER} as trigger
), ${queueLate('woken', 'next_attempt_at', 'trigger')}`;

/**
 * SQL: CTEs by which the workflows of events read their deliveries again. Events are locked by id.
 * @param source a relation with `event_id`
 * @param where a condition on the event `v`
 */
export const wakeWorkflows = (source: string, where = 'true') => `woken_event as materialized (
  select v.id from events v where v.id = any(array(select event_id from ${source})) and ${where}
   order by v.id for no key update
), woken_workflow as (
  update events v set outbox = 'again', lease_until = now() from woken_event w where v.id = w.id
)`;

const QUEUE_DUE = `
with ${wake(`due as materialized (
  select d.id from unnest((select $1::uuid[])) asked(id) join deliveries d on d.id = asked.id
   where d.asleep and d.next_attempt_at <= now() + $2::int * interval '1 millisecond'
   order by d.id for no key update of d
)`)}
select id from woken`;

const QUEUE_OVERDUE = `
with ${wake(`due as materialized (
  select d.id from deliveries d
   where d.asleep and d.next_attempt_at < now() - $1::int * interval '1 millisecond'
   order by d.next_attempt_at limit $2::int for no key update skip locked
)`)}, ${wakeWorkflows('woken', `v.outbox = 'done'`)}
select count(*)::int as queued from woken`;
