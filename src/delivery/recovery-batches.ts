import { setTimeout as sleep } from 'node:timers/promises';
import { ladderToText } from '../../workflows/ladder.js';
import type { Handle } from '../platform/database/database.js';
import { lowestIdAt } from '../platform/ids.js';
import { wakeWorkflows } from './queue.js';
import { LEFT_JOIN_DELIVERY, LOOKED_AT } from './window.js';

/** The time range [since, until) in which the events were made, ms since 1970. */
export type RecoverRange = { since: number; until: number };

/** The deliveries of one endpoint for the events of a range. */
export type RecoverScope = RecoverRange & { clientId: string; endpointId: string };

/** What a recover does: `count` deliveries start again, and `missing` events get the delivery that they lack. */
export interface RecoverSize {
  count: number;
  missing: number;
}

/** Counts the failed and cancelled deliveries of the scope. */
export async function countRecoverable(db: Handle, scope: RecoverScope): Promise<number> {
  const { endpointId, since, until } = scope;
  // Ids contain the time of their event, so that a time range is a range of the index; only the index is read.
  const [row] = await db.query<{ count: number }>(COUNT, [endpointId, lowestIdAt(since), lowestIdAt(until)]);
  return row?.count ?? 0;
}

const COUNT = `
select count(*)::int as count from deliveries
 where endpoint_id = $1::uuid and status in ('failed', 'cancelled') and id >= $2::uuid and id < $3::uuid`;

/** Deliveries of an endpoint that wait in its late line, at most; until then a recovery queues no more. */
export const LATE_WAITING = 20;

/**
 * Queues the next deliveries after the id `after`, with a new ladder: up to `limit`, and only while fewer than
 * `LATE_WAITING` attempts wait in the late line of the endpoint, so that a recovery stays behind fresh events.
 * @param retryDelays the present ladder, ms, with which they start again
 * @returns their ids, oldest first; undefined: the line is full
 */
export async function resetForRecovery(
  db: Handle,
  scope: RecoverScope,
  retryDelays: readonly number[],
  after: string | null,
  limit: number,
): Promise<readonly string[] | undefined> {
  const room = await roomInLateLine(db, scope.endpointId, limit);
  if (room === 0) return undefined;
  const { clientId, endpointId, since, until } = scope;
  const range = [lowestIdAt(since), lowestIdAt(until), after];
  const values = [endpointId, clientId, ...range, room, ladderToText(retryDelays)];
  const rows = await db.query<{ id: string }>(RESET_FOR_RECOVERY, values);
  return rows.map(({ id }) => id);
}

/** @returns how many attempts a recovery may queue now, at most `limit` */
export async function roomInLateLine(db: Handle, endpointId: string, limit: number): Promise<number> {
  const [row] = await db.query<{ waiting: number }>(LATE, [endpointId, LATE_WAITING]);
  return Math.max(0, Math.min(limit, LATE_WAITING - (row?.waiting ?? 0)));
}

const LATE = `
select count(*)::int as waiting from (
  select from queue where endpoint_id = $1::uuid and line = 'late' and lease_until is null limit $2::int) q`;

/** A delivery whose attempt is in flight, or queued by a manual retry, keeps that row of the queue. */
const RESET_FOR_RECOVERY = `
with candidates as materialized (
  select d.id from deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id and e.enabled and e.deleted_at is null
   where d.endpoint_id = $1::uuid and d.client_id = $2::uuid and d.id >= $3::uuid and d.id < $4::uuid
     and ($5::uuid is null or d.id > $5::uuid) and d.status in ('failed', 'cancelled')
   order by d.id limit $6::int for no key update of d
), reset as (
  update deliveries d set status = 'pending', reason = null, finished_at = null, next_attempt_at = now(),
         rung = 0, ladder = $7::text, recovered = true
    from candidates c where d.id = c.id
  returning d.id, d.event_id, d.client_id, d.endpoint_id
), queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
  select id, client_id, endpoint_id, 'late', now(), 'recover' from reset
  on conflict (delivery_id) do nothing
), ${wakeWorkflows('reset')}
select id from candidates order by id`;

/** The result of one batch. */
export interface MissingBatch {
  /** Number of deliveries that this call made. */
  made: number;
  /** The event after which the next batch starts; null: the last batch. */
  after: string | null;
}

/**
 * Makes the deliveries of the next `limit` events after the event `after` that have none for the endpoint. They are queued
 * like recovered ones.
 *
 * An event and the deliveries of its producer commit together, so that an event that is seen without a delivery never
 * gets one from its producer. The id of a delivery made here is made of the event's time and a hash of event and
 * endpoint, so that two calls at once make it once.
 * @param retryDelays the present ladder, ms, with which they start
 */
export async function deliverMissing(
  db: Handle,
  scope: RecoverScope,
  retryDelays: readonly number[],
  after: string | null,
  limit: number,
): Promise<MissingBatch> {
  const { clientId, endpointId, since, until } = scope;
  const range = [lowestIdAt(since), lowestIdAt(until), after];
  const [row] = await db.query<MissingBatch>(DELIVER_MISSING, [
    endpointId,
    clientId,
    ...range,
    LOOKED_AT,
    limit,
    ladderToText(retryDelays),
  ]);
  return row ?? { made: 0, after: null };
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
    from (select v.client_id, v.id from events v where ${RANGE} order by v.client_id, v.id limit $6::int) l${LEFT_JOIN_DELIVERY}
   where d.id is null
   order by l.client_id, l.id limit $7::int
), made as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, ladder, recovered)
  select id, event_id, $1::uuid, $2::uuid, now(), $8::text, true from due order by id
  on conflict (id) do nothing
  returning id, event_id, endpoint_id, client_id
), queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
  select id, client_id, endpoint_id, 'late', now(), 'recover' from made
  on conflict (delivery_id) do nothing
), ${wakeWorkflows('made')}
select (select count(*)::int from made) as made,
       case when (select count(*) from due) = $7::int then (select max(event_id::text) from due)
            else (select v.id::text from events v where ${RANGE} order by v.client_id, v.id offset $6::int - 1 limit 1)
        end as after`;

/** The longest time limit of a transaction of the service (server-settings.ts), ms. */
const LONGEST = 30_000;
const TICK = 20;

/**
 * Waits until the statements that are appending events now have committed. Such a statement may have read the endpoint
 * before it was enabled: its event is missing, and is not visible yet. A statement that begins later sees the endpoint
 * enabled, and makes the delivery itself.
 */
export async function untilAppended(db: Handle): Promise<void> {
  const [running] = await db.query<{ ids: string[] }>(APPENDING, [null]);
  const ids = running?.ids ?? [];
  for (let waited = 0; ids.length > 0 && waited < LONGEST; waited += TICK) {
    const [left] = await db.query<{ ids: string[] }>(APPENDING, [ids]);
    if (!left || left.ids.length === 0) return;
    await sleep(TICK);
  }
}

/** A statement takes this lock before its snapshot, and holds it until its transaction ends. */
const APPENDING = `
select coalesce(json_agg(distinct virtualtransaction), '[]') as ids
  from pg_locks
 where locktype = 'relation' and relation = 'events'::regclass and mode = 'RowExclusiveLock' and granted
   and pid <> pg_backend_pid() and database = (select oid from pg_database where datname = current_database())
   and ($1::text[] is null or virtualtransaction = any($1::text[]))`;
