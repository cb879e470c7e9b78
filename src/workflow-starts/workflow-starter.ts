import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { DueEvent } from '../outbox/due-event.js';
import { releaseEvents } from '../outbox/lease-events.js';
import { markDone } from '../outbox/mark.js';
import type { Waiting } from '../outbox/waiting.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import { isRefusedInput } from '../temporal/faults.js';
import { Pause } from './pause.js';
import { Sources, type SourcesOptions } from './sources.js';
import type { StartBatch } from './start-batch.js';
import { attemptsDue, CONCURRENCY, type Started, startWorkflows } from './start-workflows.js';

/** The table is read this often when no process reports a due event, ms. */
const POLL = 1_000;
/** An event whose workflow could not be started is due again after this time, s. */
const RETRY_AFTER = 1;
const BACK_OFF = RETRY_AFTER * 1_000;

export interface WorkflowStarterOptions extends SourcesOptions {
  /** Undefined while Temporal is away. */
  temporal: () => { client: Client; eager: boolean } | undefined;
  /** Asked each second. */
  waiting: () => Promise<Waiting>;
  log: Log;
}

/**
 * Starts one workflow for each event in the outbox's states `start` and `trailing`, and marks the event.
 *
 * `Sources` gives the events: of this process's memory, and of the table. `SkipTrailing` marks the delivered events for
 * which Temporal has no time.
 *
 * Modes, and what ends each:
 *
 * - STARTING. A source has given a batch: its workflows are started and its events are marked. When the last of them is
 *   under way, the loop asks memory again, so that Temporal always has work. At most two batches are under way. Changes
 *   to BACKING_OFF when no workflow of a batch could be started, unless Temporal refused an input.
 * - GIVING_WAY. Temporal may have nothing of memory now, a table may have more, and first attempts come in a burst, or,
 *   for delivered events, attempts wait in memory. Ends after 250 ms at most, or when an event becomes due; then the loop
 *   asks memory again.
 * - IDLE. Memory has nothing that Temporal may have now, and no table has more (`DueInTable.mayHaveMore` is false), or
 *   Temporal is away. Ends when an event becomes due, when an attempt's arrival makes capacity in Temporal, when the
 *   worker connects, or after POLL; all but the first two make the loop read the table again, POLL only if events wait
 *   there.
 * - BACKING_OFF. Postgres or Temporal failed. Ends after 1 s. A notification does not end it.
 * - STOPPED. Ends every mode. What memory holds returns to the table.
 *
 * A notification during STARTING is not lost: `Periodic` runs the loop once more after it.
 */
export class WorkflowStarter {
  readonly #sources: Sources;
  readonly #pause = new Pause();
  readonly #loop: Periodic;
  readonly #limit = pLimit(CONCURRENCY);

  constructor(private readonly options: WorkflowStarterOptions) {
    this.#sources = new Sources(options);
    this.#loop = new Periodic({
      interval: POLL,
      onInterval: () => void this.#poll(),
      run: () => this.#startAllDue(),
      onFault: (error) => {
        this.#report(error);
        return this.#pause.full(BACK_OFF);
      },
    });
    options.inFlight.onCapacity(() => this.#notify());
  }

  start(): void {
    this.#loop.start();
    this.nudge();
  }

  /** An event is due. An `urgent` event is leased to this process; any other is delivered, and in the table. */
  due(event: DueEvent, urgent: boolean): void {
    if (this.#sources.due(event, urgent)) this.#notify();
  }

  /** Reads the table at once. */
  nudge(): void {
    this.#sources.expectMore();
    this.#notify();
  }

  async stop(): Promise<void> {
    this.#pause.end();
    await this.#loop.stop();
    await this.#sources.release().catch(() => undefined);
  }

  /** Memory is asked in any case, because time alone may make capacity in Temporal. */
  async #poll(): Promise<void> {
    this.#sources.expectMore(await this.options.waiting());
    this.#notify();
  }

  #notify(): void {
    this.#pause.wake();
    this.#loop.request();
  }

  async #startAllDue(): Promise<void> {
    let before = Promise.resolve(true);
    try {
      while (!this.#loop.stopped) {
        const connected = this.options.temporal();
        const batch = connected && (await this.#sources.next(this.#pause));
        if (!batch) break;
        if (batch.admitted.length === 0) continue;
        const { workflows } = this.options;
        const { lastBegun, ended } = startWorkflows(connected, batch.starts, { workflows, limit: this.#limit });
        const over = this.#end(batch, ended);
        await lastBegun;
        const mayContinue = await before;
        before = over;
        if (!mayContinue) await this.#pause.full(BACK_OFF);
      }
    } finally {
      if (!(await before)) await this.#pause.full(BACK_OFF);
    }
  }

  /** Waits for the starts of a batch and marks its events. @returns false when the starter must back off */
  async #end({ admitted, starts }: StartBatch, ended: Promise<Started>): Promise<boolean> {
    const { db, inFlight, log } = this.options;
    const due = new Map(starts.map((start) => [start.input.eventId, attemptsDue(start)]));
    try {
      const { done, begun, failed, fault } = await ended;
      // A workflow that another worker started, or that sleeps first, makes no attempt soon: it holds no in-flight
      // capacity.
      for (const { eventId, clientId, attempts } of admitted) {
        const expected = begun.has(eventId) ? (due.get(eventId) ?? 0) : 0;
        for (let i = expected; i < attempts; i++) inFlight.arrived(clientId);
      }
      failpoint('before-mark');
      await markDone(db, done);
      failpoint('after-mark');
      if (failed.length === 0) return true;
      log.warn({ err: fault, events: failed.length }, 'workflows could not be started; next try in a second');
      await releaseEvents(db, failed, RETRY_AFTER);
      this.#sources.expectMore();
      // An event whose input Temporal refuses delays no other event, even when it is alone in its batch.
      return done.length > 0 || isRefusedInput(fault);
    } catch (error) {
      this.#report(error);
      return false;
    }
  }

  #report(error: unknown): void {
    const level = isUnreachable(error) ? 'warn' : 'error';
    this.options.log[level]({ err: error }, 'starting workflows failed; next try in a second');
  }
}
