import { ACTIVE } from '../endpoints/disable.js';
import { SPARED } from '../endpoints/health.js';
import type { Handle } from '../platform/database/database.js';
import { NIL_ID } from '../platform/ids.js';
import type { LeasedAttempt, QueuedAt } from './handover.js';

/**
 * The time for which one process holds a row that waits for work: a queued attempt, an event that waits for its
 * workflow, a workflow that waits for its start. Times are on Postgres's clock. Statements that are constant texts
 * write the 30 seconds themselves.
 */
export const LEASE = {
  seconds: 30,
  /** No attempt starts with less time left than this, ms: it takes up to 15 s, and a second for the body. */
  leastLeft: 20_000,
} as const;

/**
 * SQL: whether a lease has ended or was never given. Each lasts for `LEASE.seconds`. One that ends after more than
 * twice that time was given by another clock, before Postgres was restored or failed over to a machine whose clock is
 * behind. No process holds it.
 */
export function isFree(column: string): string {
  return `(${column} is null or ${column} <= now() or ${column} > now() + interval '${2 * LEASE.seconds} seconds')`;
}

/** Lines that one statement of a scan looks at. The next one continues after the last of them. */
export const HEADS = 200;
/** Attempts that one statement leases. */
export const BATCH = 200;

/**
 * SQL: `maxConcurrency` of an endpoint `e`. While a receiver is spared (`Retry-After`) it is one, which goes wherever
 * the limit goes.
 */
export const AT_ONCE = `case when ${SPARED} then 1 else e.max_concurrency end`;

/** SQL: what an attempt needs of its endpoint `e`, as it is now: a `Target`. */
export const TARGET = `e.url, e.secret_envelope as "secretEnvelope", e.headers_envelope as "headersEnvelope",
       'standard' = any(e.signatures) as "signsStandard", ${AT_ONCE} as "maxConcurrency"`;

/** The end of a line of the queue, in the order of its index. */
export type Cursor = Pick<LeasedAttempt, 'endpointId' | 'line'>;

export interface LeaseRequest {
  token: string;
  /** How many attempts of each line of an endpoint this process takes now, 0 for none. */
  allowances: readonly { endpointId: string; attempts: number }[];
  limit: number;
}

/** A line of the queue with free attempts. */
export interface Head extends QueuedAt {
  /** Whether its endpoint gets deliveries. */
  isActive: boolean;
  /** Its first attempt has been due for so long that the workers with slots may not know of it. */
  isOverdue: boolean;
}

/** Reads which of up to `HEADS` lines after the cursor have free attempts. `next` null: no line follows. */
export async function readHeads(db: Handle, after: Cursor | null): Promise<{ heads: Head[]; next: Cursor | null }> {
  const rows = await db.query<Head & Cursor>(READ_HEADS, [after?.endpointId ?? NIL_ID, after?.line ?? 'fresh']);
  return { heads: rows, next: rows.length === HEADS ? (rows.at(-1) ?? null) : null };
}

/** Leases attempts from both lines of each active endpoint that the request's `allowances` name. */
export function leaseOfEndpoints(db: Handle, { token, allowances, limit }: LeaseRequest): Promise<LeasedAttempt[]> {
  const endpointIds = allowances.map(({ endpointId }) => endpointId);
  const attempts = allowances.map((allowance) => allowance.attempts);
  return db.query<LeasedAttempt>(LEASE_OF_ENDPOINTS, [token, endpointIds, attempts, limit]);
}

/** Leases attempts by the ids of their deliveries, where they are free and their endpoints active. */
export function leaseById(db: Handle, token: string, deliveryIds: readonly string[]): Promise<LeasedAttempt[]> {
  return db.hot<LeasedAttempt>(LEASE_BY_ID, [token, deliveryIds]);
}

/**
 * A loose index scan: it reads one entry of the index for each line, whatever the length of the line. A line is
 * overdue after a second: a worker that was notified would have leased it.
 */
const READ_HEADS = `
with recursive heads as (
  (select q.endpoint_id, q.line, q.client_id, q.due_at, 1 as position from queue q
    where q.lease_until is null and (q.endpoint_id, q.line) > ($1::uuid, $2::queue_line)
    order by q.endpoint_id, q.line limit 1)
  union all
  select n.endpoint_id, n.line, n.client_id, n.due_at, h.position + 1
    from heads h cross join lateral (
      select q.endpoint_id, q.line, q.client_id, q.due_at from queue q
       where q.lease_until is null and (q.endpoint_id, q.line) > (h.endpoint_id, h.line)
       order by q.endpoint_id, q.line limit 1) n
   where h.position < ${HEADS}
)
select h.client_id as "clientId", h.endpoint_id as "endpointId", ${AT_ONCE} as "maxConcurrency", h.line::text as line,
       ${ACTIVE} as "isActive", h.due_at < now() - interval '1 second' as "isOverdue"
  from heads h join webhook_endpoints e on e.id = h.endpoint_id
 order by h.position`;

/**
 * SQL: leases the rows of `free` (delivery_id). They are few and every key is an id, so that joins read the rest of
 * what an attempt needs. A process of version 1.0 may have left the row of a cancelled delivery, which gets no attempt.
 */
const LEASE_FREE = `leased as (
  update queue q set lease_token = $1::uuid, lease_until = now() + interval '30 seconds'
   where q.delivery_id = any(array(select delivery_id from free))
  returning q.delivery_id, q.client_id, q.endpoint_id, q.line, q.due_at, q.trigger, q.lease_until
)
select q.delivery_id as "deliveryId", d.event_id as "eventId", q.client_id as "clientId", q.endpoint_id as "endpointId",
       q.line::text as line, d.attempt_count + 1 as number, q.trigger, ${TARGET},
       e.max_per_second as "maxPerSecond", v.body, v.traceparent, to_json(q.lease_until)#>>'{}' as "leasedUntil"
  from leased q
  join deliveries d on d.id = q.delivery_id
  join events v on v.id = d.event_id
  join webhook_endpoints e on e.id = q.endpoint_id
 where d.status = 'pending' or q.trigger = 'manual'
 order by q.due_at, q.delivery_id`;

/** SQL: whether the endpoint of a row gets deliveries, read by its id. */
function isOfActive(row: string): string {
  return `(select ${ACTIVE} from webhook_endpoints e where e.id = ${row}.endpoint_id)`;
}

/**
 * Each line's rows are locked as they are found, so that leases of several workers at the same moment get different
 * rows. A row that is locked and not leased is free again after this statement.
 */
const LEASE_OF_ENDPOINTS = `
with known as (
  select * from unnest((select $2::uuid[]), $3::int[]) as k(endpoint_id, attempts)
), lines as materialized (
  select k.endpoint_id, n.line, k.attempts
    from known k cross join (values ('fresh'::queue_line), ('late')) as n(line)
   where k.attempts > 0 and ${isOfActive('k')}
   order by random()
), free as materialized (
  select w.delivery_id
    from lines l cross join lateral (
      select q.delivery_id from queue q
       where q.endpoint_id = l.endpoint_id and q.line = l.line and q.lease_until is null
       order by q.due_at, q.delivery_id limit l.attempts
         for update skip locked) w
   limit $4::int
), ${LEASE_FREE}`;

/** The array leads the plan, which Postgres keeps, to the rows by their ids (record.ts). */
const LEASE_BY_ID = `
with free as materialized (
  select q.delivery_id from unnest((select $2::uuid[])) asked(id) join queue q on q.delivery_id = asked.id
   where q.delivery_id = any(array(select unnest($2::uuid[])))
     and ${isFree('q.lease_until')}
     and ${isOfActive('q')}
     for update of q skip locked
), ${LEASE_FREE}`;
