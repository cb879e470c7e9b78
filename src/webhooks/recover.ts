import type { Handle } from '../database/database.js';
import { lowestIdAt } from '../ids.js';
import { ladderToText } from '../ladder.js';
import { claimedUntil } from './claim.js';

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

/**
 * Whether `owner` owned a delivery before `other` did. Within one history of the row, an earlier owner never follows a
 * later owner: if it does, Postgres was restored to an earlier state. The order is: the event's own workflow (null),
 * then `recover-…` by the number of attempts and by the time in their names.
 */
export function isEarlierOwner(owner: string | null, other: string | null): boolean {
  const [a, b] = [rankOf(owner), rankOf(other)];
  return a !== undefined && b !== undefined && (a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]));
}

const RECOVERED_OWNER = /^recover-[0-9a-f-]{36}-(\d+)(?:-(\d+))?$/;

function rankOf(owner: string | null): readonly [number, number] | undefined {
  if (owner === null) return [-1, 0];
  const [match, attempts, ms] = RECOVERED_OWNER.exec(owner) ?? [];
  return match === undefined ? undefined : [Number(attempts), Number(ms ?? 0)];
}

/**
 * Resets the next `limit` deliveries after the id `after` to the start of their ladders. Each gets an owner workflow of
 * its own, `recover-<delivery>-<attempts so far>`.
 *
 * The result repeats deliveries that an earlier call reset and that have had no attempt since: that call may have died
 * before it started their workflows. A delivery that was cancelled before its first attempt, and is reset again, gets
 * another owner (`…-<ms>`): the first owner's workflow may not have ended yet, and would be taken for the new one.
 * @param retryDelays the present ladder, ms, with which they start again
 * @returns their ids, oldest first
 */
export async function resetForRecovery(
  db: Handle,
  scope: RecoverScope,
  retryDelays: readonly number[],
  after: string | null,
  limit: number,
): Promise<readonly string[]> {
  const { clientId, endpointId, since, until } = scope;
  const range = [lowestIdAt(since), lowestIdAt(until), after];
  const rows = await db.query<{ id: string }>(RESET_FOR_RECOVERY, [
    endpointId,
    clientId,
    ...range,
    limit,
    ladderToText(retryDelays),
  ]);
  return rows.map(({ id }) => id);
}

/**
 * A lane may still make the first attempt of a delivery that was cancelled meanwhile, under the lease of its event. The
 * lease becomes the delivery's own claim, because a delivery with an owner has no other.
 */
const RESET_FOR_RECOVERY = `
with candidates as (
  select d.id from deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id and e.enabled and e.deleted_at is null
   where d.endpoint_id = $1::uuid and d.client_id = $2::uuid and d.id >= $3::uuid and d.id < $4::uuid
     and ($5::uuid is null or d.id > $5::uuid)
     and (d.status in ('failed', 'cancelled')
          or d.status = 'pending' and d.owner is not null and d.attempt_count = d.ladder_start)
   order by d.id limit $6::int
), put_back as (
  update deliveries d set status = 'pending', reason = null, finished_at = null, next_attempt_at = now(),
         ladder_start = d.attempt_count, ladder = $7::text,
         attempting_until = greatest(d.attempting_until, (
           select ${claimedUntil('d', 'v')} from events v where v.id = d.event_id)),
         owner = 'recover-' || d.id || '-' || d.attempt_count || case
           when starts_with(d.owner, 'recover-' || d.id || '-' || d.attempt_count)
           then '-' || floor(extract(epoch from clock_timestamp()) * 1000) else '' end
    from candidates c
   where d.id = c.id and d.status in ('failed', 'cancelled')
)
select id from candidates order by id`;
