import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import type { Log } from '../telemetry/log.js';
import { startDeliverEvent } from '../temporal/start-deliver-event.js';
import { type LeasedEvent, leaseEvents, markDone, releaseEvents, renewLeases } from './events.js';
import { readStarts } from './read-starts.js';

/** Starts of one round; the whole round is marked with one statement. */
const BATCH = 50;
const CONCURRENCY = 16;
/** Urgent starts kept in memory; what is more waits in the table. */
const URGENT_CAPACITY = 2_000;
const POLL = 1_000;
/** How long starts that can wait give way to a busy lane before a few are let through, ms. */
const GIVE_WAY = 250;
const RETRY_DELAY = 1_000;

export interface WorkflowStarterOptions {
  db: Handle;
  /** Undefined while Temporal is away. */
  temporal: () => { client: Client; eager: boolean } | undefined;
  retryDelays: readonly number[];
  workflows: 'every-event' | 'retries-only';
  /** Whether deliveries are under way, which go first. */
  busy: () => boolean;
  log: Log;
}

/**
 * Starts one workflow for each event in the outbox's state `start`, and marks it. Urgent ones (something is left to do)
 * are handed over in memory and go first; the others are taken from the table, oldest first of each client.
 */
export class WorkflowStarter {
  readonly #urgent: string[] = [];
  #stopped = false;
  #loop: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  #tableMayHaveMore = true;

  constructor(private readonly options: WorkflowStarterOptions) {}

  start(): void {
    this.#loop = this.#run();
  }

  /** Events are ready: `urgent` ones are leased to this process, the others are in the table. */
  ready(eventIds: readonly string[], urgent: boolean): void {
    if (urgent && this.#urgent.length < URGENT_CAPACITY) this.#urgent.push(...eventIds);
    else this.#tableMayHaveMore = true;
    this.#wake();
  }

  /** Looks into the table at once. */
  nudge(): void {
    this.#tableMayHaveMore = true;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#loop;
    // So that another worker starts them now, and not when the lease has run out.
    if (this.#urgent.length > 0) await releaseEvents(this.options.db, this.#urgent).catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (!(await this.#round())) await this.#rest();
      } catch (error) {
        const expected = isUnreachable(error);
        this.options.log[expected ? 'warn' : 'error'](
          { err: error },
          'starting workflows failed; tried again in a second',
        );
        await this.#pause(RETRY_DELAY);
      }
    }
  }

  /** One batch; false where there was nothing to do. */
  async #round(): Promise<boolean> {
    const { db, temporal, busy } = this.options;
    const connected = temporal();
    if (!connected) return false;
    const urgent = this.#urgent.splice(0, BATCH);
    if (urgent.length > 0) {
      await this.#startAll(connected, await renewLeases(db, urgent));
      return true;
    }
    if (!this.#tableMayHaveMore) return false;
    const givesWay = busy();
    if (givesWay) await this.#pause(GIVE_WAY);
    this.#tableMayHaveMore = false;
    const leased = await leaseEvents(db, 'start', givesWay ? 2 : BATCH);
    if (leased.length === 0) return false;
    this.#tableMayHaveMore = true;
    await this.#startAll(connected, leased);
    return true;
  }

  async #startAll(
    { client, eager }: { client: Client; eager: boolean },
    leased: readonly LeasedEvent[],
  ): Promise<void> {
    const { db, retryDelays, workflows, log } = this.options;
    if (leased.length === 0) return;
    const limit = pLimit(CONCURRENCY);
    const done: string[] = [];
    const failed: string[] = [];
    let fault: unknown;
    const starts = await readStarts(db, leased, retryDelays);
    await Promise.all(
      starts.map((start) =>
        limit(async () => {
          const { eventId, deliveries } = start.input;
          try {
            const needed = workflows === 'every-event' || deliveries.some(({ status }) => status === 'pending');
            if (needed) await startDeliverEvent(client, start, { eager, reuse: 'start-once' });
            done.push(eventId);
          } catch (error) {
            fault = error;
            failed.push(eventId);
          }
        }),
      ),
    );
    await markDone(db, done);
    if (failed.length === 0) return;
    log.warn({ err: fault, events: failed.length }, 'workflows could not be started; tried again in a second');
    await releaseEvents(db, failed);
    this.#tableMayHaveMore = true;
    await this.#pause(RETRY_DELAY);
  }

  async #rest(): Promise<void> {
    const hasWork = this.#urgent.length > 0 || this.#tableMayHaveMore;
    if (hasWork && this.options.temporal()) return;
    await this.#pause(POLL);
    this.#tableMayHaveMore = true;
  }

  /** Waits, but for a wake-up: one that comes while nobody waits is not lost, since its cause stays to be seen. */
  async #pause(milliseconds: number): Promise<void> {
    if (this.#stopped) return;
    const timer = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([woken, sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }
}
