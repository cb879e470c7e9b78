import type { Handle } from '../database/database.js';

/**
 * Removes up to `limit` hours of endpoints' attempt counts. The console shows 24 h; the second day is for a clock that
 * differs.
 * @returns the number of removed rows
 */
export async function removeExpiredHours(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with removed as (
  delete from endpoint_hours where ctid in (
    select ctid from endpoint_hours where hour < now() - interval '48 hours' limit $1::int for update skip locked)
  returning 1
)
select count(*)::int as removed from removed`;
