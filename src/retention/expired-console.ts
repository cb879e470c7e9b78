import type { Handle } from '../database/database.js';

/**
 * Removes up to `limit` expired sessions of the console and up to `limit` expired codes. Reads ignore them already.
 * @returns the number of removed rows
 */
export async function removeExpiredConsole(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

/** An idle session ends after 1 h, every session after 8 h. `last_seen_at` finds both: nothing is used once it ended. */
const REMOVE = `
with sessions as (
  delete from console_sessions where ctid in (
    select ctid from console_sessions where last_seen_at < now() - interval '1 hour' limit $1::int
       for update skip locked)
  returning 1
), codes as (
  delete from console_codes where ctid in (
    select ctid from console_codes where expires_at < now() limit $1::int for update skip locked)
  returning 1
)
select (select count(*) from sessions)::int + (select count(*) from codes)::int as removed`;
