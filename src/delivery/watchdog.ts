import type { Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { QueuedAt } from './handover.js';
import { queueOverdue } from './queue.js';

const INTERVAL = 15_000;
/** A sleeping delivery that is later than this, ms, has no workflow that wakes it. */
const OVERDUE = 120_000;
/** Deliveries of one statement. */
const BATCH = 500;

/**
 * Queues what Temporal did not wake: with Temporal unavailable, hanging, or slower than the load, retries are two
 * minutes late. A workflow that was terminated, or lost with Temporal's store, starts again.
 * @param onQueued called with the endpoints of deliveries that were queued
 */
export function watchdog(db: Handle, onQueued: (at: readonly QueuedAt[]) => void, log: Log): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    run: async () => {
      let total = 0;
      for (let queued = BATCH; queued === BATCH && !loop.stopped; total += queued) {
        const overdue = await queueOverdue(db, OVERDUE, BATCH);
        onQueued(overdue);
        queued = overdue.length;
      }
      if (total > 0) log.warn({ deliveries: total }, 'queued deliveries that no workflow woke in time');
    },
    onFault: reportTo(log, 'overdue deliveries could not be queued; next try in 15 s'),
  });
  return loop;
}
