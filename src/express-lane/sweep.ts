import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { DueEvent } from '../outbox/due-event.js';
import { claimFirstAttempts, leaseEvents } from '../outbox/events.js';
import type { Log } from '../telemetry/log.js';
import type { Recorder } from '../webhooks/recorder.js';
import type { ExpressLane } from './express-lane.js';

const INTERVAL = 1_000;
const BATCH = 200;

export interface SweepOptions {
  db: Handle;
  lane: ExpressLane;
  recorder: Recorder;
  onDue: (event: DueEvent, urgent: boolean) => void;
  log: Log;
}

/**
 * Takes events whose first attempts nobody makes: fresh ones of a process with the API alone, and those whose lease has
 * run out since their worker died. Every second, and at once when told.
 */
export class Sweep {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(private readonly options: SweepOptions) {}

  start(): void {
    this.now();
    this.#timer = setInterval(() => this.now(), INTERVAL);
  }

  /** Sweeps at once; while one runs, once more after it. */
  now(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        this.#again = (await this.#take()) || this.#again;
      } catch (error) {
        this.options.log[isUnreachable(error) ? 'warn' : 'error'](
          { err: error },
          'sweep failed; tried again in a second',
        );
      }
    }
  }

  /** One batch. Whether there may be more that the lane has room for. */
  async #take(): Promise<boolean> {
    const { db, lane, recorder, onDue } = this.options;
    const limit = Math.min(BATCH, lane.capacityLeft);
    if (limit === 0) return false;
    const leased = await leaseEvents(db, 'attempt', limit, lane.saturated);
    if (leased.length === 0) return false;
    failpoint('after-lease');
    let taken = true;
    for (const event of await claimFirstAttempts(db, leased)) {
      if (event.deliveries.length > 0) {
        taken = lane.accept(event) && taken;
      } else {
        // Every first attempt was recorded before a crash: what is left is the workflow's.
        await recorder.record(undefined, { eventId: event.eventId, outbox: 'start', held: true });
        onDue({ ...event, attempts: 1 }, true);
      }
    }
    return taken;
  }
}
