import type { Handle } from '../database/database.js';

/**
 * Removes the records of up to `limit` sandbox transfers whose steps ended more than a day ago: no activity runs again
 * so late. The transfers themselves stay.
 * @returns the number of removed rows
 */
export async function removeExpiredSandboxTransfers(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with removed as (
  delete from sandbox_transfers where transfer_id in (
    select transfer_id from sandbox_transfers where ended_at < now() - interval '24 hours'
     order by ended_at limit $1::int for update skip locked)
  returning 1
)
select count(*)::int as removed from removed`;
