import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { WorkflowMode } from '../platform/config/config.js';
import type { Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import { isRefusedInput } from '../temporal/connection.js';
import { DUE_STATES, type DueState, type LeasedEvent, leaseEvents, markDone, releaseEvents } from './outbox.js';
import type { Waiting } from './waiting.js';
import { readStarts, startDeliverEvent, type WorkflowStart } from './workflow-start.js';

/** The table is read this often, ms. */
const POLL = 1_000;
/** Starts in progress at once. A start costs two cores 15 to 35 ms. */
export const CONCURRENCY = 16;
const BATCH = 32;
/** While attempts come in a burst, a batch has two events, and one begins in this time, ms. */
const WHILE_BUSY = { size: 2, pause: 250, delivered: 1_000 };
/** An event whose workflow could not be started is due again after this time, s. */
const RETRY_AFTER = 1;
/** A delivered event with a sibling in the queue waits this long for the sibling's attempt, s. */
const SIBLING = 2;

export interface WorkflowStarterOptions {
  db: Handle;
  /** Undefined while Temporal is unavailable. */
  temporal: () => Client | undefined;
  workflows: WorkflowMode;
  /** Whether attempts come in a burst. They go first. */
  busy: () => boolean;
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'starts'>>;
  log: Log;
}

/**
 * Starts one workflow for each event, from one source: the events in the table whose `outbox` says that their workflow has
 * something to learn. It takes `again` and `start` before `delivered`, and clients in turn. No attempt waits for it: the
 * queue has those that are due.
 */
export class WorkflowStarter {
  readonly #loop: Periodic;
  readonly #limit = pLimit(CONCURRENCY);
  readonly #stopping = new AbortController();

  constructor(private readonly options: WorkflowStarterOptions) {
    this.#loop = new Periodic({
      interval: POLL,
      isDue: async () => (await options.waiting()).starts,
      run: () => this.#startAll(),
      onFault: (error) => {
        reportTo(options.log, 'starting workflows failed; next try in a second')(error);
        return this.#pause(RETRY_AFTER * 1_000);
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Reads the table at once. */
  nudge(): void {
    this.#loop.request();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop.stop();
  }

  async #startAll(): Promise<void> {
    while (!this.#loop.stopped && this.options.temporal()) {
      const isBusy = this.options.busy();
      let state: DueState | undefined;
      let events: LeasedEvent[] = [];
      for (state of DUE_STATES) {
        events = await leaseEvents(this.options.db, state, isBusy ? WHILE_BUSY.size : BATCH);
        if (events.length > 0) break;
      }
      if (!state || events.length === 0) return;
      const anyDone = await this.#startBatch(state, events);
      if (!anyDone) await this.#pause(RETRY_AFTER * 1_000);
      else if (isBusy) await this.#pause(state === 'delivered' ? WHILE_BUSY.delivered : WHILE_BUSY.pause);
    }
  }

  /** @returns false when Temporal took none of them */
  async #startBatch(state: DueState, events: readonly LeasedEvent[]): Promise<boolean> {
    const { db, workflows, log } = this.options;
    const byId = new Map(events.map((event) => [event.eventId, event]));
    const starts = await readStarts(db, events);
    const early = state === 'delivered' ? starts.filter(({ isQueued }) => isQueued) : [];
    const started = starts.filter((start) => !early.includes(start));
    const results = await Promise.all(started.map((start) => this.#limit(() => this.#start(state, start, workflows))));
    const eventsOf = (some: readonly WorkflowStart[]) => some.flatMap(({ event }) => byId.get(event.eventId) ?? []);
    const done = started.filter((_, i) => results[i] === undefined);
    const failed = started.filter((_, i) => results[i] !== undefined);
    failpoint('before-mark');
    if (done.length > 0) await markDone(db, state, eventsOf(done));
    failpoint('after-mark');
    if (early.length > 0) await releaseEvents(db, eventsOf(early), SIBLING);
    if (failed.length === 0) return true;
    const fault = results.find((result) => result !== undefined);
    log.warn({ err: fault, events: failed.length }, 'workflows could not be started; next try in a second');
    await releaseEvents(db, eventsOf(failed), RETRY_AFTER);
    // An event whose input Temporal rejects delays no other event, even when it is alone in its batch.
    return done.length > 0 || isRefusedInput(fault);
  }

  /** @returns the fault; undefined: the workflow knows the event's state, or none is needed */
  async #start(how: DueState, start: WorkflowStart, workflows: WorkflowMode): Promise<unknown> {
    const isNeeded = workflows === 'every-event' || start.input.deliveries.some(isUnsuccessful) || how === 'again';
    if (!isNeeded) return undefined;
    try {
      const client = this.options.temporal();
      if (!client) throw new Error('Temporal is unavailable');
      failpoint('before-start');
      await startDeliverEvent(client, start, how);
      failpoint('after-start');
      return undefined;
    } catch (error) {
      return error ?? new Error('unknown fault');
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}

const isUnsuccessful = ({ status }: { status: string }) => status === 'pending' || status === 'failed';
