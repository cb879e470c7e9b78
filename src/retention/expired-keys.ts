import type { Handle } from '../database/database.js';

/**
 * Removes up to `limit` responses stored under an Idempotency-Key for more than the contract's 24 h.
 * @returns the number of removed responses
 */
export async function removeExpiredKeys(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(REMOVE, [limit]);
  return row?.removed ?? 0;
}

const REMOVE = `
with expired as (
  select ctid from idempotency_keys where created_at < now() - interval '24 hours' limit $1::int for update skip locked
), removed as (
  delete from idempotency_keys where ctid in (select ctid from expired) returning 1
)
select count(*)::int as removed from removed`;
