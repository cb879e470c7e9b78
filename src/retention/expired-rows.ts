import type { Handle } from '../database/database.js';
import { WITHOUT_FLUSH } from './without-flush.js';

/** When a row of a table has expired. `$2` is the retention of events, in ms. Reads ignore an expired row already. */
const EXPIRED = {
  /** Stored responses (contract: 24 h). */
  idempotency_keys: `created_at < now() - interval '24 hours'`,
  /** Retries that the hourly limit counts no more. */
  manual_retries: `at < now() - interval '1 hour'`,
  /** A recover stays for a day, as long as an `Idempotency-Key` that may refer to it. */
  recovers: `at < now() - interval '24 hours' and ended_at < now() - interval '24 hours'`,
  /** No statement reaches a period that ended before the retention. */
  endpoint_disabled_periods: `ended_at < now() - $2::bigint * interval '1 millisecond'`,
  /** The console shows 24 h; the second day is for a clock that differs. */
  endpoint_hours: `hour < now() - interval '48 hours'`,
  /** Idle for 1 h. A session that reached its 8 h is not used any more, so that this finds it too. */
  console_sessions: `last_seen_at < now() - interval '1 hour'`,
  console_codes: `expires_at < now()`,
  /** The transfers stay. No activity runs again a day after the last step. */
  sandbox_transfers: `ended_at < now() - interval '24 hours'`,
  /** Checks of receivers with their cases. */
  receiver_checks: `started_at < now() - interval '24 hours'`,
  /** Workers that were killed, and the slots that they held. */
  workers: `alive_until < now() - interval '1 hour'`,
  endpoint_slots: `held_until < now() - interval '1 hour'`,
  /** Windows of limits that have ended. */
  limit_counts: `ends_at < now() - interval '1 minute'`,
} as const;

type Table = keyof typeof EXPIRED;

/** The tables with rows that expire, apart from those of events (expired-events.ts). */
export const TABLES_WITH_EXPIRY = Object.keys(EXPIRED) as readonly Table[];

/**
 * Removes up to `limit` expired rows of a table. The statement waits for no lock: a locked row stays for the next run.
 * @param retention of events, ms
 * @returns the number of removed rows
 */
export async function removeExpiredRows(db: Handle, table: Table, retention: number, limit: number): Promise<number> {
  const condition = EXPIRED[table];
  const values = condition.includes('$2') ? [limit, retention] : [limit];
  const [row] = await db.query<{ removed: number }>(
    `
with removed as (
  delete from ${table} where ctid in (
    select ctid from ${table} where ${condition} limit $1::int for update skip locked)
  returning 1
)
select count(*)::int as removed, ${WITHOUT_FLUSH} from removed`,
    values,
  );
  return row?.removed ?? 0;
}
