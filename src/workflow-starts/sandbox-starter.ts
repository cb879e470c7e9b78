import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import {
  type DueSandboxTransfer,
  leaseSandboxTransfers,
  markStarted,
  releaseSandboxTransfer,
} from './sandbox-outbox.js';
import { startSandboxTransfer } from './start-sandbox-transfer.js';
import type { WorkflowStarterOptions } from './workflow-starter.js';

/**
 * The table is read each half of SANDBOX_STEP within these bounds, ms. The first step counts from the creation, so that a
 * start within SANDBOX_STEP delays no step, and no notification is needed. Only the first step in a process may be late,
 * by the time in which its worker of the sandbox queue starts.
 */
const [SHORTEST_POLL, LONGEST_POLL] = [500, 1_000];
/** Transfers that are leased at once. */
const BATCH = 5;
/**
 * The rest after each start, as a multiple of the time that the start took: the slower Temporal is, the fewer starts it
 * gets. A flood waits in Postgres, because in Temporal its tasks would take the server's time from deliveries.
 */
const REST = 4;
/** The shortest and the longest rest, ms. The longest rest also applies during a burst of first attempts. */
const [SHORTEST_REST, LONGEST_REST] = [40, 1_000];
/** After so many seconds a transfer that a process has leased and not started is free again. */
const LEASE_SECONDS = 30;
/** A transfer whose workflow could not be started is due again after so many seconds. */
const RETRY_AFTER = 1;
/** A workflow that recorded no end for this long, s, after the time of all its steps is started again if it was lost. */
const OVERDUE = 600;
/** The longest path of an account has this many steps. */
const MOST_STEPS = 4;

export interface SandboxStarterOptions extends Pick<WorkflowStarterOptions, 'temporal' | 'busy' | 'waiting'> {
  db: Handle;
  /** SANDBOX_STEP, ms. */
  stepDelay: number;
  /** Called at each poll once the environment has a transfer that moves by itself, or a check of a receiver. */
  onUsed: () => void;
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
      interval: Math.min(LONGEST_POLL, Math.max(SHORTEST_POLL, options.stepDelay / 2)),
      onInterval: () => void this.#poll(),
      run: async () => {
        while (await this.#startBatch());
      },
      onFault: (error) => {
        const level = isUnreachable(error) ? 'warn' : 'error';
        options.log[level]({ err: error }, 'starting sandbox transfers failed; next try at the next poll');
      },
    });
  }

  start(): void {
    this.#loop.start();
    void this.#poll();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #poll(): Promise<void> {
    const { sandbox, sandboxUsed } = await this.options.waiting();
    if (sandboxUsed) this.options.onUsed();
    if (sandbox) this.#loop.request();
  }

  /** Starts one after the other. @returns whether the table may have more */
  async #startBatch(): Promise<boolean> {
    const { db, temporal, busy } = this.options;
    if (!temporal() || this.#loop.stopped) return false;
    const due = await leaseSandboxTransfers(db, BATCH, LEASE_SECONDS);
    let failed = false;
    for (const transfer of due) {
      const since = performance.now();
      failed = !(await this.#startOne(transfer)) || failed;
      const rest = busy() ? LONGEST_REST : REST * (performance.now() - since);
      await sleep(Math.min(Math.max(SHORTEST_REST, rest), LONGEST_REST));
    }
    return due.length === BATCH && !failed;
  }

  async #startOne(transfer: DueSandboxTransfer): Promise<boolean> {
    const { db, temporal, stepDelay, log } = this.options;
    const connected = temporal();
    // The process is about to end, or Temporal is away: any worker may take the transfer.
    if (!connected || this.#loop.stopped) {
      await releaseSandboxTransfer(db, transfer.transferId, 0);
      return false;
    }
    try {
      await startSandboxTransfer(connected.client, transfer, stepDelay);
    } catch (error) {
      log.warn(
        { err: error, transfer_id: transfer.transferId },
        'a sandbox transfer could not be started; next try soon',
      );
      await releaseSandboxTransfer(db, transfer.transferId, RETRY_AFTER);
      return false;
    }
    failpoint('after-sandbox-start');
    await markStarted(db, transfer.transferId, OVERDUE + Math.ceil((MOST_STEPS * stepDelay) / 1_000));
    return true;
  }
}
