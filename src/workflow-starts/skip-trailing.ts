import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { skipTrailing } from '../outbox/trailing.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';

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
 * without one, also while Temporal is away. An event with something left to do waits for its workflow.
 */
export class SkipTrailing {
  readonly #periodic: Periodic;

  constructor(private readonly options: SkipTrailingOptions) {
    this.#periodic = new Periodic({
      interval: INTERVAL,
      run: () => this.#skipAll(),
      onFault: (error) => {
        const level = isUnreachable(error) ? 'warn' : 'error';
        options.log[level]({ err: error }, 'skipping the workflows of delivered events failed; next try in 5 s');
      },
    });
  }

  start(): void {
    this.#periodic.start();
  }

  /** Skips at once, or once more after the pass that is running. */
  now(): void {
    this.#periodic.request();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  async #skipAll(): Promise<void> {
    const { db, trail, metrics, log } = this.options;
    let skipped = 0;
    let batch: number;
    do {
      const marked = await skipTrailing(db, { trail, limit: BATCH });
      metrics.workflowsSkipped(marked.skipped);
      skipped += marked.skipped;
      batch = marked.skipped + marked.due;
    } while (batch === BATCH && !this.#periodic.stopped);
    if (skipped > 0) log.info({ events: skipped }, 'delivered events are older than WORKFLOWS_TRAIL; no workflow');
  }
}
