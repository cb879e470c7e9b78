import type { Handle } from '../database/database.js';
import type { OutboxState } from '../database/generated/enums.js';
import { isFree, LEASE } from '../lease.js';
import type { CommittedEvent, FreshDelivery } from './handover.js';

/** An event row that this process has leased. */
export interface LeasedEvent {
  eventId: string;
  clientId: string;
  transferId: string;
  type: string;
  body: string;
  /** Of the request that made it; null: not traced. */
  traceparent: string | null;
}

/** At most so many of one client in one take, so that the others get theirs. */
const SHARE = 50;

/**
 * Leases up to `limit` events in `state` that nobody works on: in turn across clients, oldest first of each. Clients are
 * found by a loose index scan, so that a client's backlog of a million costs the others nothing.
 * @param saturated clients whose events are left where they are, since there is no room for them here
 */
export function leaseEvents(
  db: Handle,
  state: Exclude<OutboxState, 'done'>,
  limit: number,
  saturated: readonly string[],
): Promise<LeasedEvent[]> {
  return db.query<LeasedEvent>(LEASE_EVENTS, [state, limit, SHARE, LEASE.seconds, saturated]);
}

const RETURNING = `
returning v.id as "eventId", v.client_id as "clientId", v.transfer_id as "transferId", v.type, v.body, v.traceparent`;

const LEASE_EVENTS = `
with recursive clients as (
  (select client_id from events where outbox = $1::outbox_state and outbox <> 'done' order by client_id limit 1)
  union all
  select (select e.client_id from events e
           where e.outbox = $1::outbox_state and e.outbox <> 'done' and e.client_id > c.client_id
           order by e.client_id limit 1)
    from clients c where c.client_id is not null
), candidates as (
  select e.id, e.turn
    from clients c cross join lateral (
      select id, row_number() over (order by id) as turn
        from (select id from events
               where outbox = $1::outbox_state and outbox <> 'done' and client_id = c.client_id and ${isFree('lease_until')}
               order by id limit $3::int) oldest) e
   where c.client_id <> all($5::uuid[])
   order by e.turn, random() limit $2::int
), free as (
  select id from events
   where id in (select id from candidates) and outbox = $1::outbox_state and ${isFree('lease_until')}
     for update skip locked
), leased as (
  update events v set lease_until = now() + $4::int * interval '1 second'
    from free where v.id = free.id ${RETURNING}
)
select * from leased order by "eventId"`;

/** Renews the lease on events that this process holds and that wait for their workflow. */
export function renewLeases(db: Handle, eventIds: readonly string[]): Promise<LeasedEvent[]> {
  return db.query<LeasedEvent>(RENEW, [eventIds, LEASE.seconds]);
}

const RENEW = `
update events v set lease_until = now() + $2::int * interval '1 second'
 where v.id = any($1::uuid[]) and v.outbox = 'start' ${RETURNING}`;

/** Claims the first attempts that have not been made of leased events; answers the events with what is to be sent. */
export async function claimFirstAttempts(db: Handle, events: readonly LeasedEvent[]): Promise<CommittedEvent[]> {
  const claimed = await db.query<FreshDelivery & { eventId: string }>(CLAIM_FIRST, [
    events.map((event) => event.eventId),
    LEASE.seconds,
  ]);
  const byEvent = groupByEvent(claimed);
  return events.map((event) => ({
    ...event,
    deliveries: byEvent.get(event.eventId) ?? [],
  }));
}

function groupByEvent<Row extends { eventId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.eventId);
    if (group) group.push(row);
    else groups.set(row.eventId, [row]);
  }
  return groups;
}

/** Deliveries are locked in the order of their ids, here and in releaseClaims, as a cancellation does (disable-endpoint.ts): none waits for the other in a ring. */
const CLAIM_FIRST = `
with free as materialized (
  select id from deliveries
   where event_id = any($1::uuid[]) and status = 'pending' and attempt_count = 0 and owner is null
     and ${isFree('attempting_until')}
   order by id for no key update
)
update deliveries d set attempting_until = now() + $2::int * interval '1 second'
  from free f, webhook_endpoints e
 where d.id = f.id and e.id = d.endpoint_id and e.enabled and e.deleted_at is null
returning d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "endpointId", e.url,
          e.secret_envelope as "secretEnvelope"`;

/** Gives claims of first attempts back that will not be made here. */
export async function releaseClaims(db: Handle, deliveryIds: readonly string[]): Promise<void> {
  await db.query(RELEASE_CLAIMS, [deliveryIds]);
}

const RELEASE_CLAIMS = `
with held as materialized (
  select id from deliveries where id = any($1::uuid[]) and attempt_count = 0 and owner is null
   order by id for no key update
)
update deliveries d set attempting_until = null from held h where d.id = h.id`;

/** Whether an endpoint is there and enabled. */
export async function isEndpointActive(db: Handle, endpointId: string): Promise<boolean> {
  const [row] = await db.query<{ active: boolean }>(
    'select enabled and deleted_at is null as active from webhook_endpoints where id = $1::uuid',
    [endpointId],
  );
  return row?.active ?? false;
}

/** Ends the leases, so that anybody may take the events: now, or after so many seconds. */
export async function releaseEvents(db: Handle, eventIds: readonly string[], after = 0): Promise<void> {
  await db.query(RELEASE_EVENTS, [eventIds, after]);
}

const RELEASE_EVENTS = `
update events set lease_until = now() + $2::int * interval '1 second' where id = any($1::uuid[]) and outbox <> 'done'`;

/** Marks events whose workflow has started, or is not needed. */
export async function markDone(db: Handle, eventIds: readonly string[]): Promise<void> {
  await db.query(`update events set outbox = 'done' where id = any($1::uuid[])`, [eventIds]);
}
