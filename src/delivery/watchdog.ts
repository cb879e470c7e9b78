import type { Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import { queueOverdue } from './queue.js';

const INTERVAL = 15_000;
/** A sleeping delivery that is later than this, ms, has no workflow that wakes it. */
const OVERDUE = 120_000;
/** Deliveries of one statement. */
const BATCH = 500;

/**
 * Queues what Temporal did not wake: with Temporal unavailable, hanging, or slower than the load, retries are two minutes
 * late. A workflow that was terminated, or lost with Temporal's store, starts again.
 * @param onQueued called after deliveries were queued
 */
export function watchdog(db: Handle, onQueued: () => void, log: Log): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    run: async () => {
      let total = 0;
      for (let queued = BATCH; queued === BATCH && !loop.stopped; total += queued) {
        queued = await queueOverdue(db, OVERDUE, BATCH);
        if (queued > 0) onQueued();
      }
      if (total > 0) log.warn({ deliveries: total }, 'queued deliveries that no workflow woke in time');
    },
    onFault: reportTo(log, 'overdue deliveries could not be queued; next try in 15 s'),
  });
  return loop;
}
