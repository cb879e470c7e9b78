import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { DueEvent } from '../outbox/due-event.js';
import { leaseEvents } from '../outbox/lease-events.js';
import { readFirstAttempts } from '../outbox/read-first-attempts.js';
import type { Waiting } from '../outbox/waiting.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import type { Recorder } from '../webhooks/recorder.js';
import type { ExpressLane } from './express-lane.js';

const INTERVAL = 1_000;
const BATCH = 200;
/** A batch of a backlog has at least this many events. */
const LARGE = 50;
/**
 * After a smaller batch new events gather for this time, ms. Without it, each of N workers takes the few events of some
 * ms, and the statements of an event grow with N.
 */
const GATHER = 20;

export interface SweepOptions {
  db: Handle;
  lane: ExpressLane;
  recorder: Recorder;
  onDue: (event: DueEvent, urgent: boolean) => void;
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'attempt'>>;
  log: Log;
}

/**
 * Takes the events in the table whose first attempts no worker makes: new events of a process that runs the API alone,
 * and events whose lease has run out because their worker died. It runs on request, at once after a rest, and every
 * second while an event is in the table.
 */
export class Sweep {
  readonly #periodic: Periodic;
  /** When the next batch may begin, by `performance.now()`. */
  #nextAt = 0;

  constructor(private readonly options: SweepOptions) {
    this.#periodic = new Periodic({
      interval: INTERVAL,
      onInterval: () => void this.#poll(),
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

  /** Sweeps soon, or once more after the sweep that is running. */
  now(): void {
    this.#periodic.request();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  async #poll(): Promise<void> {
    const { attempt } = await this.options.waiting();
    if (attempt) this.now();
  }

  /** Takes one batch. @returns whether the table may have more events that the lane has capacity for */
  async #take(): Promise<boolean> {
    const { db, lane, recorder, onDue } = this.options;
    const rest = this.#nextAt - performance.now();
    if (rest > 0) await sleep(rest);
    const limit = Math.min(BATCH, lane.capacityLeft);
    if (limit === 0) return false;
    const leasedAt = performance.now();
    const leased = await leaseEvents(db, 'attempt', limit, lane.saturated);
    if (leased.length < LARGE) this.#nextAt = performance.now() + GATHER;
    if (leased.length === 0) return false;
    failpoint('after-lease');
    let taken = true;
    for (const event of await readFirstAttempts(db, leased)) {
      if (event.deliveries.length > 0) {
        taken = lane.accept(event, leasedAt) && taken;
      } else {
        // Every first attempt was recorded before a crash. The workflow makes the next ones.
        await recorder.record(undefined, { eventId: event.eventId, outbox: 'start', held: true });
        onDue({ ...event, attempts: 1 }, true);
      }
    }
    return taken;
  }
}
