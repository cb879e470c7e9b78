import type { Handle } from '../database/database.js';

/** Removes up to `limit` checks of receivers that are a day old, with their cases. @returns the number of checks */
export async function removeExpiredChecks(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with removed as (
  delete from receiver_checks where ctid in (
    select ctid from receiver_checks where started_at < now() - interval '24 hours'
     limit $1::int for update skip locked)
  returning 1
)
select count(*)::int as removed from removed`;
