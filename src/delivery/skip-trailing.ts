import type { Handle } from '../database/database.js';
import { reportTo } from '../database/faults.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { skipTrailing } from './outbox.js';

const INTERVAL = 5_000;
/** Events of one statement: some tens of ms for Postgres. */
const BATCH = 500;

export interface SkipTrailingOptions {
  db: Handle;
  /** WORKFLOWS_TRAIL, ms. */
  trail: number;
  metrics: Pick<Metrics, 'workflowsSkipped'>;
  log: Log;
}

/**
 * Bounds the backlog of a lasting overload. A delivered event whose workflow has not started in time is marked done
 * without one, also while Temporal is unavailable. An event with a pending or failed delivery waits for its workflow.
 */
export function skipTrailingLoop({ db, trail, metrics, log }: SkipTrailingOptions): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    run: async () => {
      let skipped = 0;
      let batch: number;
      do {
        const marked = await skipTrailing(db, { trail, limit: BATCH });
        metrics.workflowsSkipped(marked.skipped);
        skipped += marked.skipped;
        batch = marked.skipped + marked.due;
      } while (batch === BATCH && !loop.stopped);
      if (skipped > 0) log.info({ events: skipped }, 'delivered events are older than WORKFLOWS_TRAIL; no workflow');
    },
    onFault: reportTo(log, 'skipping the workflows of delivered events failed; next try in 5 s'),
  });
  return loop;
}
