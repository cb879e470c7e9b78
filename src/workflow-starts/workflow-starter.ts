import type { Client } from '@temporalio/client';
import type { WorkflowMode } from '../config.js';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { DueEvent } from '../outbox/due-event.js';
import { leaseEvents, markDone, releaseEvents, renewLeases } from '../outbox/events.js';
import type { Log } from '../telemetry/log.js';
import { BatchSize, MAX_BATCH } from './batch-size.js';
import { InFlightLimit } from './in-flight-limit.js';
import { Pause } from './pause.js';
import { readStarts, type WorkflowStart } from './read-starts.js';
import { StartQueue } from './start-queue.js';
import { attemptsDue, isRefusedInput, startWorkflows } from './start-workflows.js';

/** Fewer, so that the next who comes waits for less. */
const URGENT_BATCH = 32;
/** Urgent starts kept in memory; what is more waits in the table. */
const URGENT_CAPACITY = 2_000;
const POLL = 1_000;
/** What could not be started is tried again after so long, s. */
const AGAIN = 1;
const RETRY_DELAY = AGAIN * 1_000;
/** Attempts of one client that wait in Temporal at once: the dev server makes some fifty a second. */
const WINDOW = { size: 10, forgotten: 10_000, saturated: 2_000 };
/** What finds no room in memory either comes again after so long, s. */
const PUT_OFF = 5;

export interface WorkflowStarterOptions {
  db: Handle;
  /** Undefined while Temporal is away. */
  temporal: () => { client: Client; eager: boolean } | undefined;
  retryDelays: readonly number[];
  workflows: WorkflowMode;
  /** Whether deliveries are under way, which go first. */
  busy: () => boolean;
  /** Whether an attempt of this client would find a place. */
  hasSlot: (clientId: string) => boolean;
  log: Log;
}

/**
 * Starts one workflow for each event in the outbox's state `start`, and marks it. Urgent ones (something is left to do)
 * are handed over in memory and go first, in turn across clients; the others are taken from the table, oldest first of each client.
 */
export class WorkflowStarter {
  readonly #urgent = new StartQueue(URGENT_CAPACITY);
  readonly #window: InFlightLimit;
  readonly #pause = new Pause();
  readonly #size = new BatchSize();
  /** Leased to this process, with no room in memory. */
  #overflow: string[] = [];
  /** Something has come since the round began. */
  #news = false;
  #stopped = false;
  #loop: Promise<void> | undefined;
  #tableMayHaveMore = true;

  constructor(private readonly options: WorkflowStarterOptions) {
    this.#window = new InFlightLimit({ ...WINDOW, hasSlot: options.hasSlot });
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** An event is ready: an `urgent` one is leased to this process, another is in the table. */
  due(event: DueEvent, urgent: boolean): void {
    if (urgent) this.#hold(event);
    else if (this.#tableMayHaveMore) return;
    else this.#tableMayHaveMore = true;
    this.#look();
  }

  /** An activity of this client has come: that attempt waits in Temporal no more. */
  arrived(clientId: string): void {
    if (this.#window.arrived(clientId)) this.#look();
  }

  /** Looks into the table at once. */
  nudge(): void {
    this.#tableMayHaveMore = true;
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.end();
    await this.#loop;
    // So that another worker starts them now, and not when the lease has run out.
    const held = [...idsOf(this.#urgent.take(this.#urgent.size, () => true)), ...this.#overflow];
    if (held.length > 0) await releaseEvents(this.options.db, held).catch(() => undefined);
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
        await this.#pause.full(RETRY_DELAY);
      }
    }
  }

  /** One batch; false where there was nothing to do. */
  async #round(): Promise<boolean> {
    const { db, temporal, busy, retryDelays } = this.options;
    const connected = temporal();
    if (!connected) return false;
    this.#news = false;
    await this.#putOff();
    const urgent = this.#urgent.take(URGENT_BATCH, (event) => this.#enters(event));
    if (urgent.length > 0) {
      await this.#startAll(connected, urgent, await readStarts(db, await renewLeases(db, idsOf(urgent)), retryDelays));
      return true;
    }
    if (!this.#tableMayHaveMore) return false;
    const wait = this.#size.wait(busy(), performance.now());
    if (wait > 0) {
      await this.#pause.untilNews(wait);
      return true;
    }
    this.#tableMayHaveMore = false;
    const size = this.#size.next(busy(), performance.now());
    const leased = await leaseEvents(db, 'start', size, this.#urgent.saturated(MAX_BATCH));
    const entered: DueEvent[] = [];
    const starts = (await readStarts(db, leased, retryDelays)).filter((start) => {
      const event = { ...start.event, attempts: attemptsDue(start) };
      if (!this.#enters(event)) return this.#hold(event);
      return entered.push(event);
    });
    if (starts.length === 0) {
      if (leased.length === 0) this.#size.rested();
      // All of them must wait: a larger round finds others. What became ready meanwhile is not forgotten.
      const more = leased.length > 0 && size < MAX_BATCH;
      this.#tableMayHaveMore ||= more;
      return more;
    }
    this.#tableMayHaveMore = true;
    await this.#startAll(connected, entered, starts);
    return true;
  }

  /** Whether Temporal may have it now, which is counted. */
  #enters({ clientId, attempts }: DueEvent): boolean {
    const now = performance.now();
    if (attempts > 0 && !this.#window.admits(clientId, attempts, now)) return false;
    this.#window.started(clientId, attempts, now);
    return true;
  }

  /** Keeps it in memory until it may enter; what has no room there comes again from the table. */
  #hold(event: DueEvent): false {
    if (!this.#urgent.push(event)) this.#overflow.push(event.eventId);
    return false;
  }

  async #putOff(): Promise<void> {
    if (this.#overflow.length > 0) await releaseEvents(this.options.db, this.#overflow.splice(0), PUT_OFF);
  }

  async #startAll(
    connected: { client: Client; eager: boolean },
    entered: readonly DueEvent[],
    starts: readonly WorkflowStart[],
  ): Promise<void> {
    const { db, workflows, log } = this.options;
    const due = new Map(starts.map((start) => [start.input.eventId, attemptsDue(start)]));
    const { done, begun, failed, fault } = await startWorkflows(connected, starts, workflows);
    // What another worker has started, or what sleeps first: no attempt of it comes soon, and room would be kept in vain.
    for (const { eventId, clientId, attempts } of entered) {
      const coming = begun.has(eventId) ? (due.get(eventId) ?? 0) : 0;
      for (let i = coming; i < attempts; i++) this.#window.arrived(clientId);
    }
    failpoint('before-mark');
    await markDone(db, done);
    failpoint('after-mark');
    if (failed.length === 0) return;
    log.warn({ err: fault, events: failed.length }, 'workflows could not be started; tried again in a second');
    await releaseEvents(db, failed, AGAIN);
    this.#tableMayHaveMore = true;
    // One that cannot be started holds up nobody else, alone in its round or not.
    if (done.length === 0 && !isRefusedInput(fault)) await this.#pause.full(RETRY_DELAY);
  }

  async #rest(): Promise<void> {
    const hasWork = this.#news || this.#tableMayHaveMore;
    if (hasWork && this.options.temporal()) return;
    await this.#pause.untilNews(POLL);
    this.#tableMayHaveMore = true;
  }

  #look(): void {
    this.#news = true;
    this.#pause.wake();
  }
}

const idsOf = (events: readonly DueEvent[]): string[] => events.map(({ eventId }) => eventId);
