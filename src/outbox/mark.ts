import type { Handle } from '../database/database.js';

/** Marks events whose workflow has started, or is not needed. They leave the queue. */
export async function markDone(db: Handle, eventIds: readonly string[]): Promise<void> {
  await db.query(`update events set outbox = 'done' where id = any($1::uuid[])`, [eventIds]);
}
