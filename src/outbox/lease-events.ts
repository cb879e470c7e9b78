import type { Handle } from '../database/database.js';
import type { OutboxState } from '../database/generated/enums.js';
import { isFree, LEASE } from '../lease.js';
import { EVENT_COLUMNS, type EventRow } from './event-row.js';

/** Events of one client in one batch, at most, so that the other clients get theirs. */
const SHARE = 50;

/**
 * Leases up to `limit` events in `state` that no process has leased: in turn across clients, the oldest of each client
 * first. A loose index scan finds the clients, so that one client's backlog of a million events costs the others
 * nothing.
 * @param saturated clients whose events stay in the table, because this process has no capacity for them
 */
export function leaseEvents(
  db: Handle,
  state: Exclude<OutboxState, 'done'>,
  limit: number,
  saturated: readonly string[],
): Promise<EventRow[]> {
  return db.query<EventRow>(LEASE_EVENTS, [state, limit, SHARE, LEASE.seconds, saturated]);
}

/**
 * SQL: events in `state`, of one client, in an order that only the index of the outbox serves. With equalities and
 * `order by id`, Postgres may walk the primary key through every event that is done, while it has no statistics.
 */
export function waitingEvents(alias: string, state: string, clientId: string): { where: string; order: string } {
  const line = `(${alias}.outbox, ${alias}.client_id)`;
  return {
    where: `${alias}.outbox <> 'done' and ${line} >= (${state}, ${clientId}) and ${line} <= (${state}, ${clientId})`,
    order: `${alias}.outbox, ${alias}.client_id, ${alias}.id`,
  };
}

const OF_CLIENT = waitingEvents('e', '$1::outbox_state', 'c.client_id');

/**
 * Each client's rows are locked as they are found. Statements of several workers at the same moment thus get different
 * rows: if the rows were chosen first and locked afterwards, all workers would choose the oldest ones, and all but one
 * would get none. No row is locked that is not leased. Clients whose events are all leased take no part of the batch;
 * a lone client, which makes two rows of `clients`, needs no such check.
 *
 * Postgres cannot estimate how many rows `share` and a condition on two columns choose. It would scan the table for an
 * `exists`, and for a join with `free`; it does not for the first row in the order of the index, and for an array of ids.
 */
const LEASE_EVENTS = `
with recursive clients as (
  (select client_id from events where outbox >= $1::outbox_state and outbox <= $1::outbox_state and outbox <> 'done'
    order by outbox, client_id limit 1)
  union all
  select (select e.client_id from events e
           where e.outbox <> 'done' and e.outbox <= $1::outbox_state
             and (e.outbox, e.client_id) > ($1::outbox_state, c.client_id)
           order by e.outbox, e.client_id limit 1)
    from clients c where c.client_id is not null
), chosen as materialized (
  select client_id, greatest(1, least($3::int, $2::int / count(*) over ())) as share
    from clients c
   where client_id is not null and client_id <> all($5::uuid[])
     and ((select count(*) from clients) = 2 or (
       select true from events e
        where ${OF_CLIENT.where} and ${isFree('e.lease_until')} order by ${OF_CLIENT.order} limit 1))
   order by random() limit $2::int
), free as materialized (
  select w.id
    from chosen c cross join lateral (
      select id from events e
       where ${OF_CLIENT.where} and ${isFree('e.lease_until')}
       order by ${OF_CLIENT.order} limit c.share
         for update skip locked) w
), leased as (
  update events v set lease_until = now() + $4::int * interval '1 second'
   where v.id = any(array(select id from free))
returning ${EVENT_COLUMNS}
)
select * from leased order by "eventId"`;

/** Renews the leases on events that this process holds and that wait for their workflow start. */
export function renewLeases(db: Handle, eventIds: readonly string[]): Promise<EventRow[]> {
  return db.query<EventRow>(RENEW, [eventIds, LEASE.seconds]);
}

const RENEW = `
update events v set lease_until = now() + $2::int * interval '1 second'
 where v.id = any($1::uuid[]) and v.outbox = 'start' 
returning ${EVENT_COLUMNS}`;

/** Ends the leases now, or after so many seconds, so that any process may take the events. */
export async function releaseEvents(db: Handle, eventIds: readonly string[], after = 0): Promise<void> {
  await db.query(RELEASE_EVENTS, [eventIds, after]);
}

/** `is distinct from`: see the settlement in webhooks/record.ts. */
const RELEASE_EVENTS = `
update events set lease_until = now() + $2::int * interval '1 second'
 where id = any($1::uuid[]) and outbox is distinct from 'done'`;
