import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { DueEvent } from '../outbox/due-event.js';
import { claimFirstAttempts, leaseEvents } from '../outbox/events.js';
import { Periodic } from '../periodic.js';
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
  readonly #periodic: Periodic;

  constructor(private readonly options: SweepOptions) {
    this.#periodic = new Periodic({
      interval: INTERVAL,
      run: async () => {
        while ((await this.#take()) && !this.#periodic.stopped);
      },
      onFault: (error) => {
        const level = isUnreachable(error) ? 'warn' : 'error';
        options.log[level]({ err: error }, 'sweep failed; tried again in a second');
      },
    });
    options.lane.onCapacity(() => this.now());
  }

  start(): void {
    this.#periodic.start();
    this.now();
  }

  /** Sweeps at once; while a sweep runs, once more after it. */
  now(): void {
    this.#periodic.request();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
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
