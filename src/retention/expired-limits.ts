import type { Handle } from '../database/database.js';

/**
 * Removes up to `limit` manual retries and up to `limit` ended recovers that no limit counts any more. A recover stays
 * for a day, as long as an `Idempotency-Key` that may refer to it.
 * @returns the number of removed rows
 */
export async function removeExpiredLimits(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with retries as (
  delete from manual_retries where ctid in (
    select ctid from manual_retries where at < now() - interval '1 hour' limit $1::int for update skip locked)
  returning 1
), ended as (
  delete from recovers where ctid in (
    select ctid from recovers where at < now() - interval '24 hours' and ended_at < now() - interval '24 hours'
     limit $1::int for update skip locked)
  returning 1
)
select (select count(*) from retries)::int + (select count(*) from ended)::int as removed`;
