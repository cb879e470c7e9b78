import { ACTIVE } from '../endpoints/disable.js';
import type { Handle } from '../platform/database/database.js';
import type { LeasedAttempt, QueuedAt } from './handover.js';
import { AT_ONCE, isFree, TARGET } from './lease.js';
import { tellWorkflows } from './outbox.js';

/**
 * The queue: a row for each attempt that is due, whatever its reason. The row is inserted with its delivery, when a
 * sleeping delivery comes due, or by a manual retry or a recovery. It is deleted when the delivery ends, leased or not,
 * by the record of an attempt or by the cancellation.
 *
 * A lease is (token, time): the token names the process, and no other process leases the row before the time, on
 * Postgres's clock. Token and time together tell a lease from every other of the row. A lease by id takes a row whose
 * time is over; for the scans, `freeExpired` clears its lease first.
 *
 * Locks are taken in this order: endpoint, deliveries by id, queue, outbox by event.
 */

/** A lease of this process. */
type Lease = Pick<LeasedAttempt, 'deliveryId' | 'leasedUntil'>;

/** Whether an attempt waits in the queue, and whether a process has leased it. Undefined: it has no row. */
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
 * Ends the leases whose time is over: their process was killed. A row without a delivery leaves the queue: retention
 * removed the delivery at the moment of a manual retry, and no lease finds anything to make. @returns the endpoints of
 * the others
 */
export function freeExpired(db: Handle): Promise<QueuedAt[]> {
  return db.query<QueuedAt>(FREE_EXPIRED, []);
}

/** What may have changed while an attempt waited. */
export type Target = Pick<
  LeasedAttempt,
  'url' | 'secretEnvelope' | 'headersEnvelope' | 'signsStandard' | 'maxConcurrency'
>;

/** Reads the targets of leased attempts. Undefined: the attempt may not be made any more, or its lease has ended. */
export async function readTargets(
  db: Handle,
  token: string,
  leases: readonly Lease[],
): Promise<(Target | undefined)[]> {
  const ids = leases.map(({ deliveryId }) => deliveryId);
  const rows = await db.hot<Target & { id: string }>(TARGETS, [token, ids, leases.map((lease) => lease.leasedUntil)]);
  const byId = new Map(rows.map(({ id, ...target }) => [id, target]));
  return ids.map((id) => byId.get(id));
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
 * Queues sleeping deliveries that are overdue, and asks for the workflows of their events, which are lost or stand
 * still.
 * @param overdue ms
 * @returns one row for each, at most `limit`
 */
export function queueOverdue(db: Handle, overdue: number, limit: number): Promise<QueuedAt[]> {
  return db.query<QueuedAt>(QUEUE_OVERDUE, [overdue, limit]);
}

/** What another transaction has locked stays leased until the lease ends. */
const GIVE_BACK = `
with held as materialized (
  select q.delivery_id from unnest((select $2::uuid[]), $3::timestamptz[]) as given(delivery_id, until)
    join queue q on q.delivery_id = given.delivery_id
   where q.delivery_id = any(array(select unnest($2::uuid[])))
     and q.lease_token = $1::uuid and q.lease_until = given.until
     for update of q skip locked
)
update queue set lease_token = null, lease_until = null where delivery_id = any(array(select delivery_id from held))`;

/** SQL: `QueuedAt` of an endpoint `e`. */
const QUEUED_AT = `e.client_id as "clientId", e.id as "endpointId", ${AT_ONCE} as "maxConcurrency"`;

const FREE_EXPIRED = `
with expired as materialized (
  select q.delivery_id, (select true from deliveries d where d.id = q.delivery_id) as kept
    from queue q where q.lease_until is not null and ${isFree('q.lease_until')}
   order by q.lease_until limit 10000 for update of q skip locked
), removed as (
  delete from queue where delivery_id = any(array(select delivery_id from expired where kept is null))
), freed as (
  update queue set lease_token = null, lease_until = null
   where delivery_id = any(array(select delivery_id from expired where kept)) returning endpoint_id
)
select ${QUEUED_AT} from webhook_endpoints e where e.id in (select endpoint_id from freed)`;

const TARGETS = `
select q.delivery_id as id, ${TARGET}
  from unnest((select $2::uuid[]), $3::timestamptz[]) asked(id, until)
  join queue q on q.delivery_id = asked.id
  join webhook_endpoints e on e.id = q.endpoint_id
 where q.lease_token = $1::uuid and q.lease_until = asked.until and ${ACTIVE}`;

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

/** SQL: CTEs by which the workflows of the events of `source` (event_id, client_id) read their deliveries again. */
export const wakeWorkflows = (source: string) => `woken_workflow as (
  select distinct event_id, client_id, 'again'::outbox_state as state from ${source}
), ${tellWorkflows('woken_workflow')}`;

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
)`)}, ${wakeWorkflows('woken')}
select ${QUEUED_AT} from woken w join webhook_endpoints e on e.id = w.endpoint_id`;
