import pLimit from 'p-limit';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import { leaseSandboxTransfers, markStarted, releaseSandboxTransfers } from './sandbox-outbox.js';
import { startSandboxTransfer } from './start-sandbox-transfer.js';
import type { WorkflowStarterOptions } from './workflow-starter.js';

/**
 * The table is read this often, ms. The first step counts from the creation, so that a start within SANDBOX_STEP delays
 * no step, and no notification is needed.
 */
const POLL = 500;
/** Starts in one batch. While first attempts pile up there is one batch for each POLL. */
const BATCH = 10;
/** Starts under way at once: few, because the starts of deliveries share the server. */
const CONCURRENCY = 2;
/** After so many seconds a transfer that a process has leased and not started is free again. */
const LEASE_SECONDS = 30;
/** A transfer whose workflow could not be started is due again after so many seconds. */
const RETRY_AFTER = 1;
/** A workflow that recorded no end for this long, s, after the time of all its steps is started again if it was lost. */
const OVERDUE = 600;
/** The longest path of an account has this many steps. */
const MOST_STEPS = 4;

export interface SandboxStarterOptions extends Pick<WorkflowStarterOptions, 'temporal' | 'busy'> {
  db: Handle;
  /** SANDBOX_STEP, ms. */
  stepDelay: number;
  log: Log;
}

/**
 * Starts the workflows of transfers that move by themselves. The need for each was committed with its transfer, so none
 * is lost while Temporal is away or when a process dies.
 */
export class SandboxStarter {
  readonly #loop: Periodic;

  constructor(private readonly options: SandboxStarterOptions) {
    this.#loop = new Periodic({
      interval: POLL,
      run: () => this.#startAllDue(),
      onFault: (error) => {
        const level = isUnreachable(error) ? 'warn' : 'error';
        options.log[level]({ err: error }, 'starting sandbox transfers failed; next try at the next poll');
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #startAllDue(): Promise<void> {
    while (!this.#loop.stopped && (await this.#startBatch()) && !this.options.busy());
  }

  /** @returns whether the table may have more */
  async #startBatch(): Promise<boolean> {
    const { db, temporal, stepDelay } = this.options;
    const connected = temporal();
    if (!connected) return false;
    const due = await leaseSandboxTransfers(db, BATCH, LEASE_SECONDS);
    const limit = pLimit(CONCURRENCY);
    const starts = due.map((transfer) => limit(() => startSandboxTransfer(connected.client, transfer, stepDelay)));
    const results = await Promise.allSettled(starts);
    failpoint('after-sandbox-start');
    const idsOf = (status: 'fulfilled' | 'rejected') =>
      due.filter((_, i) => results[i]?.status === status).map(({ transferId }) => transferId);
    const [started, failed] = [idsOf('fulfilled'), idsOf('rejected')];
    const overdue = OVERDUE + Math.ceil((MOST_STEPS * stepDelay) / 1_000);
    if (started.length > 0) await markStarted(db, started, overdue);
    if (failed.length > 0) {
      await releaseSandboxTransfers(db, failed, RETRY_AFTER);
      const err = results.find((result) => result.status === 'rejected')?.reason;
      const message = 'workflows of sandbox transfers could not be started; next try in a second';
      this.options.log.warn({ err, transfers: failed.length }, message);
    }
    return due.length === BATCH && failed.length === 0;
  }
}
