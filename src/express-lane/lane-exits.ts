import type { Handle } from '../database/database.js';
import type { DueEvent } from '../outbox/due-event.js';
import { releaseEvents } from '../outbox/lease-events.js';
import type { Log } from '../telemetry/log.js';
import { claimUnderWay } from '../webhooks/claim.js';
import type { Recorder } from '../webhooks/recorder.js';
import type { LaneEvent, LaneJob } from './lane-event.js';

export interface LaneExitsOptions {
  db: Handle;
  recorder: Pick<Recorder, 'record'>;
  /** Called when an event is due for its workflow start. `urgent`: the workflow has an attempt to make at once. */
  onDue: (event: DueEvent, urgent: boolean) => void;
  log: Log;
}

/** How jobs leave the express lane: after their attempt, to the workflow, or back to the table. */
export class LaneExits {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly options: LaneExitsOptions) {}

  /** Reports an event that is settled, unless this process starts no workflow for it. */
  reportDue({ event, attemptsLeft }: LaneEvent): void {
    if (attemptsLeft === undefined) return;
    this.options.onDue({ ...event, attempts: attemptsLeft }, attemptsLeft > 0);
  }

  /** Hands a job over to the workflow, whose activities wait without holding a slot here. */
  handOver({ event, delivery }: LaneJob): void {
    event.handOver(delivery);
    void this.inBackground(this.#settle(event));
  }

  /**
   * Hands whole events over to their workflows while first attempts are under way here. These are claimed in their rows
   * first, since the event's lease is no claim in the next state of the outbox. If the claim fails, or the attempts have
   * ended meanwhile, the last attempt settles the event.
   */
  handOverAll(events: readonly LaneEvent[]): void {
    if (events.length > 0) void this.inBackground(this.#handOverAll(events));
  }

  /**
   * Returns jobs to the table. The sweep of any worker takes them again. The lease ends after the record of the attempts
   * that were made: without it another worker would make them again. Never rejects.
   */
  returnToQueue(jobs: readonly LaneJob[]): Promise<void> {
    return this.inBackground(this.#returnToQueue(jobs));
  }

  /**
   * Runs work that `drained` waits for. After a fault the sweep takes the event when its lease ends.
   * @returns when the work has ended, with or without a fault
   */
  inBackground(work: Promise<void>): Promise<void> {
    const guarded = work
      .catch((error) => this.options.log.warn({ err: error }, 'an event of the express lane waits for the sweep'))
      .finally(() => this.#running.delete(guarded));
    this.#running.add(guarded);
    return guarded;
  }

  /** Resolves when no work runs, later work included. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #returnToQueue(jobs: readonly LaneJob[]): Promise<void> {
    for (const { event } of jobs) event.returnToQueue();
    const over = [...new Set(jobs.map(({ event }) => event).filter(({ isOver }) => isOver))];
    const unattempted = over.filter(({ isAttempted }) => !isAttempted).map(({ event }) => event.eventId);
    if (unattempted.length > 0) await releaseEvents(this.options.db, unattempted);
    await Promise.all(over.filter(({ isAttempted }) => isAttempted).map((event) => this.#settle(event)));
  }

  async #handOverAll(events: readonly LaneEvent[]): Promise<void> {
    const { db, recorder } = this.options;
    await claimUnderWay(
      db,
      events.flatMap(({ underWay }) => underWay),
    );
    const handOver = async (event: LaneEvent) => {
      await recorder.record(undefined, event.handOverAll());
      this.reportDue(event);
    };
    await Promise.all(events.filter(({ isAllUnderWay }) => isAllUnderWay).map(handOver));
  }

  async #settle(event: LaneEvent): Promise<void> {
    if (!event.settlement) return;
    await this.options.recorder.record(undefined, event.settlement);
    this.reportDue(event);
  }
}
