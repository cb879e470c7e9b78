import type { Handle } from '../database/database.js';
import { EVENT_COLUMNS, type EventRow } from '../outbox/event-row.js';
import { readRecoveredStarts, readStarts, type WorkflowStart } from './read-starts.js';

/** The key of the last delivery of a page. */
export interface PendingKey {
  plannedAt: string;
  deliveryId: string;
}

export interface PendingScope {
  /** Only deliveries whose planned attempt is this late, minutes; null: every pending delivery. */
  overdueMinutes: number | null;
  /** The key of the page before; null: the first page, which has the most overdue delivery. */
  after: PendingKey | null;
  limit: number;
}

/**
 * Reads the workflow starts that a page of pending deliveries needs, the most overdue first. `next` is null after the
 * last page. It skips events that are still in the outbox: the sweep and the starter take those.
 */
export async function readPending(
  db: Handle,
  retryDelays: readonly number[],
  { overdueMinutes, after, limit }: PendingScope,
): Promise<{ starts: WorkflowStart[]; next: PendingKey | null }> {
  const values = [overdueMinutes, after?.plannedAt ?? null, after?.deliveryId ?? null, limit];
  const rows = await db.query<PendingKey & EventRow & { owner: string | null }>(PENDING, values);
  const events = new Map(rows.filter(({ owner }) => owner === null).map((row) => [row.eventId, row]));
  const recovered = rows.filter(({ owner }) => owner !== null).map(({ deliveryId }) => deliveryId);
  const starts = [
    ...(await readStarts(db, [...events.values()], retryDelays)),
    ...(await readRecoveredStarts(db, recovered, retryDelays)),
  ];
  return { starts, next: rows.length < limit ? null : (rows.at(-1) ?? null) };
}

/** Reads the start of the workflow that owns a pending delivery. */
export async function readOwnerStart(
  db: Handle,
  retryDelays: readonly number[],
  deliveryId: string,
): Promise<WorkflowStart | undefined> {
  const [recovered] = await readRecoveredStarts(db, [deliveryId], retryDelays);
  if (recovered) return recovered;
  const [start] = await readStarts(db, await db.query<EventRow>(EVENT_OF, [deliveryId]), retryDelays);
  return start;
}

/** Reads a page of the index on `next_attempt_at`. Both bounds are expressions that the index can use. */
export const PENDING = `
select d.id as "deliveryId", d.owner, d.next_attempt_at::text as "plannedAt", ${EVENT_COLUMNS}
  from deliveries d join events v on v.id = d.event_id
 where d.status = 'pending'
   and d.next_attempt_at < coalesce(now() - $1::int * interval '1 minute', 'infinity')
   and (d.next_attempt_at, d.id) > (coalesce($2::timestamptz, '-infinity'),
                                    coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
   and (d.owner is not null or v.outbox = 'done')
 order by d.next_attempt_at, d.id limit $4::int`;

const EVENT_OF = `
select ${EVENT_COLUMNS} from events v join deliveries d on d.event_id = v.id
 where d.id = $1::uuid and d.owner is null and d.status = 'pending' and v.outbox = 'done'`;
