import { atomically, type Handle } from './database.js';

/** Reads in a transaction of which Postgres ends each statement after `limit` ms. */
export function timeLimited<T>(db: Handle, limit: number, read: (tx: Handle) => Promise<T>): Promise<T> {
  return atomically(db, async (tx) => {
    await tx.query(`select set_config('statement_timeout', $1, true)`, [String(limit)]);
    return read(tx);
  });
}
