import type { Handle } from '../database/database.js';
import { lowestIdAt } from '../ids.js';
import { ladderToText } from '../ladder.js';
import { wakeWorkflows } from './queue.js';

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
