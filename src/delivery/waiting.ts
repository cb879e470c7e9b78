import { type Handle, rowOf } from '../platform/database/database.js';
import { shareReading } from '../platform/deadline.js';
import { isFree } from './lease.js';
import type { LiveWorkers } from './live-workers.js';

/** Which tables have rows that wait. */
export interface Waiting {
  /** Attempts in the queue that no process has leased. */
  queued: boolean;
  /** Leased attempts whose lease may have ended. */
  expired: boolean;
  /** Events that wait for their workflow, leased ones included. */
  starts: boolean;
  /** Recoveries run. */
  recoveries: boolean;
  /** Workflows other than those of events are due for a start (workflow_starts). */
  workflows: boolean;
  /** Whether the sandbox queue may have tasks: there is a row of a simulated transfer, or of a check. */
  sandboxUsed: boolean;
}

/** Polls of the same moment share one reading, ms. It ends before the next poll. */
const READING = { keep: 100, limit: 900 };

/**
 * One small statement for the polls of the dispatcher and of what starts workflows. A loop reads and locks rows only
 * where rows wait: an idle process would otherwise run many statements a second that find nothing. If the read fails,
 * each loop queries its table itself, and reports the fault.
 *
 * The queue has the dead entries of a minute, up to its vacuum, and each look passes over them. So only the first of
 * the workers looks there.
 */
export function shareWaiting(db: Handle, workers: Pick<LiveWorkers, 'isFirst'>): () => Promise<Waiting> {
  const read = shareReading(() => readWaiting(db, workers.isFirst), READING);
  return async () => (await read()) ?? ANY;
}

/** @param looksAtQueue false: `queued` and `expired` are not read, and are false */
export const readWaiting = (db: Handle, looksAtQueue: boolean): Promise<Waiting> =>
  rowOf<Waiting>(db, WAITING, [looksAtQueue]);

/** What a loop expects when it does not know. The sandbox queue, once it is served, needs no reading. */
export const ANY: Waiting = {
  queued: true,
  expired: true,
  starts: true,
  recoveries: true,
  workflows: true,
  sandboxUsed: false,
};

/**
 * SQL: whether the first or the last lease to end is free. In the order of the index, since Postgres scans the table
 * for an `exists` while it has no statistics.
 */
const endOfLease = (order: 'asc' | 'desc') =>
  `coalesce((select ${isFree('lease_until')} from queue where lease_until is not null order by lease_until ${order} limit 1), false)`;

const WAITING = `
select $1::boolean and exists (select from queue where lease_until is null order by endpoint_id limit 1) as queued,
  $1::boolean and (${endOfLease('asc')} or ${endOfLease('desc')}) as expired,
  exists (select from outbox order by client_id limit 1) as starts,
  exists (select from recoveries where finished_at is null limit 1) as recoveries,
  exists (select from workflow_starts where start_after <= now() order by start_after limit 1) as workflows,
  exists (select from sandbox_transfers order by transfer_id desc limit 1)
    or exists (select from receiver_checks order by started_at desc limit 1) as "sandboxUsed"`;
