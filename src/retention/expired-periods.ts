import type { Handle } from '../database/database.js';

/**
 * Removes up to `limit` periods of disabled endpoints that ended before the retention: no statement reaches them.
 * @param retention in ms
 * @returns the number of removed periods
 */
export async function removeExpiredPeriods(db: Handle, retention: number, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [retention, limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with expired as (
  select id from endpoint_disabled_periods where ended_at < now() - $1::bigint * interval '1 millisecond'
   limit $2::int for update skip locked
), removed as (
  delete from endpoint_disabled_periods where id in (select id from expired) returning 1
)
select count(*)::int as removed from removed`;
