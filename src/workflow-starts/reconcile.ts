import { setTimeout as sleep } from 'node:timers/promises';
import { tryAdvisoryLock } from '../database/advisory-lock.js';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { Periodic } from '../periodic.js';
import type { Secret } from '../secret.js';
import type { Log } from '../telemetry/log.js';
import { type PendingKey, readPending } from './read-pending.js';
import type { WorkflowStart } from './read-starts.js';
import { startPending } from './start-pending.js';
import type { WorkflowStarterOptions } from './workflow-starter.js';

const INTERVAL = 60_000;
/** A delivery this late has no workflow, or a workflow that makes no progress, minutes. */
const OVERDUE_MINUTES = 10;
const PAGE = 50;
/**
 * A pass ends when so many workflows in a row were running: they are late for another reason, and each start costs
 * Temporal.
 */
const MOST_RUNNING = 1_000;
/** A page gives way for at most `longest` during a burst of first attempts, and checks every `tick`, ms. */
const BUSY = { longest: 1_000, tick: 50 };
/**
 * The next page is started when at most `left` attempts of the last page wait in Temporal, because they are ahead of
 * the retries of new events there. A receiver that does not respond delays the next page by at most `longest`, ms.
 */
const WAITING = { left: 10, longest: 2_500, tick: 100 };

export interface ReconcileOptions {
  db: Handle;
  /** For the lock that one worker at a time holds while it starts workflows. */
  databaseUrl: Secret;
  temporal: WorkflowStarterOptions['temporal'];
  retryDelays: readonly number[];
  /** Whether first attempts come in a burst. They go first. */
  busy: () => boolean;
  log: Log;
}

/**
 * Starts the workflows of pending deliveries that are long overdue and have no running workflow: it was terminated by
 * hand, Temporal lost its store, or Postgres was restored. A pass continues until nothing is overdue, at the rate at
 * which Temporal starts workflows. One worker at a time makes a pass. A second workflow is harmless, because every
 * attempt is claimed.
 */
export class Reconcile {
  readonly #periodic: Periodic;
  /** The end of a pass that found only running workflows. The next pass continues there. */
  #after: PendingKey | null = null;

  constructor(private readonly options: ReconcileOptions) {
    this.#periodic = new Periodic({
      interval: INTERVAL,
      run: async () => {
        await this.now();
      },
      onFault: (error) => options.log.error({ err: error }, 'reconcile failed; next try in a minute'),
    });
  }

  start(): void {
    this.#periodic.start();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  /** Makes one pass. @returns the number of workflows that it started */
  async now(): Promise<number> {
    const { databaseUrl, temporal, log } = this.options;
    const count = { started: 0, running: 0 };
    const from = this.#after;
    try {
      if (!temporal() || (await this.#page(null, 1)).starts.length === 0) return 0;
      const lock = await tryAdvisoryLock(databaseUrl, 'reconcile');
      if (!lock) return 0;
      try {
        while (lock.held && !this.#periodic.stopped && count.running < MOST_RUNNING && (await this.#startPage(count)));
      } finally {
        await lock.release();
      }
    } catch (error) {
      log[isUnreachable(error) ? 'warn' : 'error']({ err: error }, 'reconcile failed; next try in a minute');
    }
    if (count.started > 0) {
      log.warn({ workflows: count.started }, 'overdue deliveries had no running workflow; workflows started');
    }
    // A pass that began in the middle has not read the pages before.
    if (from !== null && this.#after === null && count.running < MOST_RUNNING && !this.#periodic.stopped) {
      return count.started + (await this.now());
    }
    return count.started;
  }

  /** @returns false after the last page */
  async #startPage(count: { started: number; running: number }): Promise<boolean> {
    const { temporal, log } = this.options;
    await this.#giveWay();
    const connected = temporal();
    if (!connected) return false;
    const { starts, next } = await this.#page(this.#after, PAGE);
    const { started, running, refused } = await startPending(connected.client, starts, 'restart');
    for (const workflow_id of started) {
      log.info({ workflow_id }, 'an overdue delivery had no running workflow; workflow started');
    }
    if (refused.length > 0) log.error({ workflow_ids: refused }, 'Temporal refused the input of these workflows');
    count.started += started.length;
    count.running = started.length > 0 ? 0 : count.running + running;
    this.#after = next;
    if (next !== null) await this.#untilAttempted(starts.filter(({ workflowId }) => started.includes(workflowId)));
    return next !== null;
  }

  #page(after: PendingKey | null, limit: number) {
    const { db, retryDelays } = this.options;
    return readPending(db, retryDelays, { overdueMinutes: OVERDUE_MINUTES, after, limit });
  }

  /** Waits until the attempts are made. It reads the rows, because any worker may make the attempts. */
  async #untilAttempted(starts: readonly WorkflowStart[]): Promise<void> {
    const ids = starts.flatMap(({ input }) => input.deliveries.map(({ deliveryId }) => deliveryId));
    for (let waited = 0; waited < WAITING.longest && !this.#periodic.stopped; waited += WAITING.tick) {
      const [row] = await this.options.db.query<{ count: number }>(NOT_ATTEMPTED, [ids, OVERDUE_MINUTES]);
      if (!row || row.count <= WAITING.left) return;
      await sleep(WAITING.tick);
    }
  }

  async #giveWay(): Promise<void> {
    for (let waited = 0; this.options.busy() && waited < BUSY.longest && !this.#periodic.stopped; waited += BUSY.tick) {
      await sleep(BUSY.tick);
    }
  }
}

const NOT_ATTEMPTED = `
select count(*)::int as count from deliveries
 where id = any($1::uuid[]) and status = 'pending' and attempting_until is null
   and next_attempt_at < now() - $2::int * interval '1 minute'`;
