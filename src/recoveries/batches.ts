import { ladderToText } from '../../workflows/ladder.js';
import { queueLate, wakeWorkflows } from '../delivery/queue.js';
import { ACTIVE } from '../endpoints/disable.js';
import { LEFT_JOIN_DELIVERY, LOOKED_AT } from '../endpoints/window.js';
import { type Handle, rowOf } from '../platform/database/database.js';
import { lowestIdAt, NIL_ID } from '../platform/ids.js';

/** The time range [since, until) in which the events were made, ms since 1970. */
export type RecoveryRange = { since: number; until: number };

/** The deliveries of one endpoint for the events of a range. */
export type RecoveryScope = RecoveryRange & { clientId: string; endpointId: string };

/** SQL: a pending delivery `d` waits for its next rung; neither it nor a manual retry of it is due or in flight. */
export const SLEEPS = `d.status = 'pending' and d.asleep and d.next_attempt_at > now()
   and not exists (select from queue q where q.delivery_id = d.id)`;

/** While so many deliveries of an endpoint wait in its late line, a recovery queues no more. */
export const LATE_WAITING = 20;

/** @returns how many attempts a recovery may queue now, at most `limit` */
export async function roomInLateLine(db: Handle, endpointId: string, limit: number): Promise<number> {
  const { waiting } = await rowOf<{ waiting: number }>(db, LATE, [endpointId, LATE_WAITING]);
  return Math.max(0, Math.min(limit, LATE_WAITING - waiting));
}

const LATE = `
select count(*)::int as waiting from (
  select from queue where endpoint_id = $1::uuid and line = 'late' and lease_until is null limit $2::int) q`;

/** The next deliveries of a recovery: at most `limit`, after the delivery or event `after`. */
export interface RecoveryPart extends RecoveryScope {
  after: string | null;
  limit: number;
  /** The present ladder, ms, with which they start. */
  retryDelays: readonly number[];
}

function valuesOf({ endpointId, clientId, since, until, after, limit, retryDelays }: RecoveryPart): unknown[] {
  return [endpointId, clientId, lowestIdAt(since), lowestIdAt(until), after, limit, ladderToText(retryDelays)];
}

/**
 * Queues the next deliveries of a phase, oldest first, with a new ladder: those that failed or were cancelled
 * (`ended`), or those that sleep (`pending`).
 * @returns their ids, and the delivery after which the next batch starts; null: none was found, or the endpoint is
 * inactive
 */
export async function resetForRecovery(
  db: Handle,
  part: RecoveryPart,
  phase: keyof typeof RESET = 'ended',
): Promise<{ ids: readonly string[]; after: string | null }> {
  return rowOf(db, RESET[phase], valuesOf(part));
}

/**
 * A delivery whose attempt is in flight, or queued by a manual retry, keeps that row of the queue.
 *
 * One ordered range of the index on (endpoint, status, id) for each status, as cancelling reads it (`CANCEL_PENDING`):
 * in the order of ids alone, the read after the last failed delivery walks over every later success.
 *
 * What is found may have changed before it is locked. The next batch starts after it, whether it was reset or not.
 */
const resetThose = (statuses: readonly string[], which: string) => `
with found as materialized (
  ${statuses
    .map(
      (status) => `(
  select d.id from deliveries d
   where d.endpoint_id = $1::uuid and d.status >= '${status}' and d.status <= '${status}' and d.id >= $3::uuid
     and d.id < $4::uuid and d.id > coalesce($5::uuid, '${NIL_ID}') and ${which}
   order by d.status desc, d.id limit $6::int)`,
    )
    .join(' union all ')}
), candidates as materialized (
  select d.id from deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id and e.enabled and e.deleted_at is null
   where d.id = any(array(select id from found order by id limit $6::int)) and d.client_id = $2::uuid and ${which}
   order by d.id for no key update of d
), reset as (
  update deliveries d set status = 'pending', reason = null, finished_at = null, next_attempt_at = now(),
         rung = 0, ladder = $7::text, recovered = true, asleep = false
    from candidates c where d.id = c.id
  returning d.id, d.event_id, d.client_id, d.endpoint_id
), ${queueLate('reset', 'now()', `'recover'`)}, ${wakeWorkflows('reset')}
select coalesce((select json_agg(id order by id) from candidates), '[]') as ids,
       case when exists (select from webhook_endpoints e where e.id = $1::uuid and ${ACTIVE}) then
         (select max(id::text) from (select id from found order by id limit $6::int) f) end as after`;

const RESET = {
  ended: resetThose(['failed', 'cancelled'], `d.status in ('failed', 'cancelled')`),
  pending: resetThose(['pending'], SLEEPS),
};

/** Deliveries that a batch queued, and the delivery or event after which the next one starts; null: it was the last. */
export type QueuedPart = { recovered: number; after: string | null };

/**
 * Makes the deliveries of the next events that have none for the endpoint. They are queued like recovered ones.
 *
 * An event and the deliveries of its producer commit together, so that an event that is seen without a delivery never
 * gets one from its producer. The id of a delivery made here is made of the event's time and a hash of event and
 * endpoint, so that two calls at once make it once.
 */
export function deliverMissing(db: Handle, part: RecoveryPart): Promise<QueuedPart> {
  return rowOf<QueuedPart>(db, DELIVER_MISSING, [...valuesOf(part), LOOKED_AT]);
}

const HASH = `sha256(convert_to(l.id || ' ' || $1::uuid, 'UTF8'))`;
/** A UUID version 7 (RFC 9562): the event's time, then 73 bits of the hash; the version and the variant between. */
const MADE_ID = `(substr(l.id::text, 1, 13) || '-7' || substr(encode(${HASH}, 'hex'), 1, 3) || '-'
  || to_hex(8 + get_byte(${HASH}, 2) % 4) || substr(encode(${HASH}, 'hex'), 7, 3) || '-' || substr(encode(${HASH}, 'hex'), 11, 12))::uuid`;

const RANGE = `
  v.client_id = $2::uuid and v.id >= $3::uuid and v.id < $4::uuid and ($5::uuid is null or v.id > $5::uuid)
  and exists (select from webhook_endpoints
               where id = $1::uuid and client_id = $2::uuid and enabled and deleted_at is null)`;

/** Events are read in the order of their index, one after another, until enough of them are due. */
const DELIVER_MISSING = `
with due as materialized (
  select l.id as event_id, ${MADE_ID} as id
    from (select v.client_id, v.id from events v where ${RANGE} order by v.client_id, v.id limit $8::int) l${LEFT_JOIN_DELIVERY}
   where d.id is null
   order by l.client_id, l.id limit $6::int
), made as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, ladder, recovered)
  select id, event_id, $1::uuid, $2::uuid, now(), $7::text, true from due order by id
  on conflict (id) do nothing
  returning id, event_id, endpoint_id, client_id
), ${queueLate('made', 'now()', `'recover'`)}, ${wakeWorkflows('made')}
select (select count(*)::int from made) as recovered,
       case when (select count(*) from due) = $6::int then (select max(event_id::text) from due)
            else (select v.id::text from events v where ${RANGE} order by v.client_id, v.id offset $8::int - 1 limit 1)
        end as after`;
