import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import { claimFirstAttempts } from '../outbox/claim-first-attempts.js';
import type { DueEvent } from '../outbox/due-event.js';
import { leaseEvents } from '../outbox/lease-events.js';
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
 * Takes the events in the table whose first attempts no worker makes: new events of a process that runs the API alone,
 * and events whose lease has run out because their worker died. It runs every second, and at once on request.
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
        options.log[level]({ err: error }, 'sweep failed; next try in a second');
      },
    });
    options.lane.onCapacity(() => this.now());
  }

  start(): void {
    this.#periodic.start();
    this.now();
  }

  /** Sweeps at once, or once more after the sweep that is running. */
  now(): void {
    this.#periodic.request();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  /** Takes one batch. @returns whether the table may have more events that the lane has capacity for */
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
        // Every first attempt was recorded before a crash. The workflow makes the next ones.
        await recorder.record(undefined, { eventId: event.eventId, outbox: 'start', held: true });
        onDue({ ...event, attempts: 1 }, true);
      }
    }
    return taken;
  }
}
