import { arrayLiteral } from '../database/array-literal.js';
import type { Handle } from '../database/database.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { isFree, LEASE } from '../lease.js';

/** The attempt to claim, and the workflow that requests it. */
export interface AttemptRequest {
  deliveryId: string;
  /** 1 for the first. */
  number: number;
  /** The requesting workflow, which must own the delivery; null: the event's own workflow. */
  owner: string | null;
  /** True for a single attempt at a delivery that has ended (a retry by hand). It fails while the ladder runs. */
  single: boolean;
}

/** The data that a claimed attempt needs. */
export interface ClaimedAttempt {
  deliveryId: string;
  eventId: string;
  clientId: string;
  endpointId: string;
  url: string;
  secretEnvelope: string;
  body: string;
  /** The trace of the request that made the event; null: not traced. */
  traceparent: string | null;
  /** The number of this attempt in its ladder, 1 for the first. */
  rung: number;
}

/**
 * Claims one attempt. No other process makes it while the claim lasts.
 * @returns undefined if the attempt may not be made now; `readDeliveryState` gives the reason
 */
export async function claimAttempt(db: Handle, request: AttemptRequest): Promise<ClaimedAttempt | undefined> {
  const [row] = await db.query<ClaimedAttempt>(CLAIM, [
    request.deliveryId,
    request.number,
    request.owner,
    request.single,
    LEASE.seconds,
  ]);
  return row;
}

/** Claims first attempts that are under way, in the rows of their deliveries. One that is recorded stays as it is. */
export async function claimUnderWay(db: Handle, deliveryIds: readonly string[]): Promise<void> {
  await db.query(CLAIM_UNDER_WAY, [deliveryIds, LEASE.seconds]);
}

/** The rows are locked in the order in which a batch of records locks them. */
const CLAIM_UNDER_WAY = `
with under_way as materialized (
  select id from deliveries where id = any($1::uuid[]) order by id for no key update
)
update deliveries d set attempting_until = now() + $2::int * interval '1 second'
  from under_way u
 where d.id = u.id and d.attempt_count = 0`;

/**
 * SQL: the time until which another process may make the next attempt of delivery `d` of event `v`; null: none does.
 * An activity claims an attempt in the delivery's row. The lane makes first attempts under the lease of their event,
 * except those of recovered deliveries, which have an owner. Before the lane hands an event over with attempts under
 * way, it claims these in their rows (`claimUnderWay`).
 */
export function claimedUntil(d: string, v: string): string {
  return `greatest(case when not ${isFree(`${d}.attempting_until`)} then ${d}.attempting_until end,
                   case when ${d}.attempt_count = 0 and ${d}.owner is null and ${v}.outbox = 'attempt'
                             and not ${isFree(`${v}.lease_until`)} then ${v}.lease_until end)`;
}

/**
 * The lock on the event decides between this claim and a lease at the same moment: a lease that came first is seen here,
 * and the lane sees a claim that came first (`readFirstAttempts`). The delivery is locked before its event, as the
 * record of an attempt locks them.
 */
const CLAIM = `
with delivery as materialized (
  select event_id from deliveries where id = $1::uuid for no key update
), event as materialized (
  select v.id, v.body, v.traceparent, v.outbox, v.lease_until
    from events v where v.id = (select event_id from delivery) for share
)
update deliveries d set attempting_until = now() + $5::int * interval '1 second'
  from webhook_endpoints e, event v
 where d.id = $1::uuid and e.id = d.endpoint_id and v.id = d.event_id
   and d.attempt_count = $2::int - 1
   and d.owner is not distinct from $3::text
   and (d.status = 'pending') <> $4::boolean
   and ${claimedUntil('d', 'v')} is null
   and e.enabled and e.deleted_at is null
returning d.id as "deliveryId", d.event_id as "eventId", d.client_id as "clientId", d.endpoint_id as "endpointId",
          e.url, e.secret_envelope as "secretEnvelope", v.body, v.traceparent,
          $2::int - d.ladder_start as rung`;

/** When the present enabled period of each endpoint began, ms since 1970; undefined: it is inactive. */
export async function activeSince(db: Handle, endpointIds: readonly string[]): Promise<(number | undefined)[]> {
  const rows = await db.hot<{ id: string; since: number }>(ACTIVE_SINCE, [arrayLiteral(endpointIds)]);
  const since = new Map(rows.map((row) => [row.id, row.since]));
  return endpointIds.map((id) => since.get(id));
}

const ACTIVE_SINCE = `
select id, (extract(epoch from enabled_at) * 1000)::float8 as since
  from webhook_endpoints where id = any($1::uuid[]) and enabled and deleted_at is null`;

/** Whether each of these deliveries may have an attempt: it is pending, and its endpoint is active. */
export async function areDue(db: Handle, deliveryIds: readonly string[]): Promise<boolean[]> {
  const rows = await db.hot<{ id: string }>(DUE, [arrayLiteral(deliveryIds)]);
  const due = new Set(rows.map(({ id }) => id));
  return deliveryIds.map((id) => due.has(id));
}

const DUE = `
select d.id
  from unnest((select $1::uuid[])) asked(id)
  join deliveries d on d.id = asked.id
  join webhook_endpoints e on e.id = d.endpoint_id
 where d.status = 'pending' and e.enabled and e.deleted_at is null`;

/** A delivery's state, read for an attempt that could not be claimed. Times are in ms. */
export interface DeliveryState {
  status: DeliveryStatus;
  reason: string | null;
  owner: string | null;
  attemptCount: number;
  /** Time left of another process's claim; 0: no claim. */
  claimedFor: number;
  /** Time until the planned next attempt; null: none is planned. */
  untilNext: number | null;
  endpointActive: boolean;
  /** The outcome of the requested attempt; null: not recorded. */
  recorded: RecordedOutcome | null;
  /** The outcome of the last recorded attempt; null: no attempt is recorded. */
  latest: RecordedOutcome | null;
}

export interface RecordedOutcome {
  responseStatus: number | null;
  error: string | null;
}

/** @returns undefined if the delivery is gone (lost in a restore of Postgres, or removed by retention) */
export async function readDeliveryState(db: Handle, request: AttemptRequest): Promise<DeliveryState | undefined> {
  const [row] = await db.query<DeliveryState>(READ_STATE, [request.deliveryId, request.number]);
  return row;
}

/** SQL: the recorded outcome of the delivery's attempt with this number, as JSON; null if it is not recorded. */
const outcomeOf = (number: string) => `
       (select json_build_object('responseStatus', a.response_status, 'error', a.error)
          from attempts a where a.delivery_id = d.id and a.number = ${number})`;

const READ_STATE = `
select d.status::text, d.reason, d.owner, d.attempt_count as "attemptCount",
       coalesce(ceil(extract(epoch from ${claimedUntil('d', 'v')} - now()) * 1000)::int, 0) as "claimedFor",
       greatest(0, ceil(extract(epoch from d.next_attempt_at - now()) * 1000))::int as "untilNext",
       e.enabled and e.deleted_at is null as "endpointActive",${outcomeOf('$2::int')} as recorded,${outcomeOf('d.attempt_count')} as latest
  from deliveries d join webhook_endpoints e on e.id = d.endpoint_id join events v on v.id = d.event_id
 where d.id = $1::uuid`;
