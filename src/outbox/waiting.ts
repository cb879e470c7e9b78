import type { Handle } from '../database/database.js';
import { shareReading } from '../shared-reading.js';

/** Which tables have rows that wait, leased ones included. */
export interface Waiting {
  /** Events in these states of the outbox. */
  attempt: boolean;
  start: boolean;
  trailing: boolean;
  /** Transfers that move by themselves and are due for a start of their workflow. */
  sandbox: boolean;
  /** Whether the sandbox queue may have tasks: there is a row of a transfer that moves by itself, or of a check. */
  sandboxUsed: boolean;
}

/** Polls of the same moment share one reading, ms. It ends before the next poll. */
const READING = { keep: 100, limit: 900 };

/**
 * One small statement for the polls of all loops of this process. A loop reads and locks rows only where rows wait: an
 * idle process would otherwise run seven statements a second that find nothing. A loop looks where the reading fails,
 * so that it meets and reports the fault itself.
 */
export function shareWaiting(db: Handle): () => Promise<Waiting> {
  const read = shareReading(() => readWaiting(db), READING);
  return async () => (await read()) ?? ANY;
}

/** Reads one entry of an index for each answer. */
export async function readWaiting(db: Handle): Promise<Waiting> {
  const [row] = await db.query<Waiting>(WAITING, []);
  if (!row) throw new Error('the reading of what waits has no row');
  return row;
}

/** What a loop expects when it does not know. The sandbox queue, once it is served, needs no reading. */
export const ANY: Waiting = { attempt: true, start: true, trailing: true, sandbox: true, sandboxUsed: false };

/** The bounds and the order let no other index serve it (lease-events.ts). */
const isIn = (state: string) => `
  exists (select from events where outbox >= '${state}' and outbox <= '${state}' and outbox <> 'done'
           order by outbox, client_id limit 1)`;

const WAITING = `
select ${isIn('attempt')} as attempt, ${isIn('start')} as start, ${isIn('trailing')} as trailing,
  exists (select from sandbox_transfers where ended_at is null and start_after <= now()
           order by start_after limit 1) as sandbox,
  exists (select from sandbox_transfers order by transfer_id desc limit 1)
    or exists (select from receiver_checks order by started_at desc limit 1) as "sandboxUsed"`;
