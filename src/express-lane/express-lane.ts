import type { WorkflowMode } from '../config.js';
import type { Handle } from '../database/database.js';
import { delayAfter } from '../ladder.js';
import { LEASE } from '../lease.js';
import type { CommittedEvent, Handover } from '../outbox/handover.js';
import { type AttemptDependencies, makeAttempt } from '../webhooks/make-attempt.js';
import type { AttemptSlots } from './attempt-slots.js';
import { DueJobs } from './due-jobs.js';
import { LaneCapacity } from './lane-capacity.js';
import { LaneEvent, type LaneJob } from './lane-event.js';
import { LaneExits, type LaneExitsOptions } from './lane-exits.js';
import { isRetriedSoon, LateEvents } from './late-events.js';

/** A job that waits longer than this for a slow receiver is handed over to the workflow, ms. */
const HAND_OVER_AFTER = 5_000;
/**
 * A receiver below this rate is slow, attempts a second. Above it the lane clears a backlog sooner than the workflow.
 */
const SLOW = 20;
/** A job that waits longer than this is returned to the table while its lease still holds, ms. */
const RETURN_AFTER = LEASE.seconds * 1_000 - LEASE.leastLeft;
const TICK = 500;
/** Attempts made but not recorded yet. With more than these Postgres is slow, and a crash would repeat them all. */
const UNRECORDED = 500;

export interface LaneOptions extends Pick<LaneExitsOptions, 'onDue' | 'log'> {
  db: Handle;
  slots: AttemptSlots<LaneJob>;
  attempts: AttemptDependencies;
  retryDelays: readonly number[];
  workflows: WorkflowMode;
  /** First attempts that may wait in memory. Those beyond it wait in the table. */
  capacity: number;
}

/** The express lane makes first attempts at once, in bounded number and fair across clients (design, The one path). */
export class ExpressLane implements Handover {
  readonly leases = true;
  readonly #exits: LaneExits;
  readonly #late = new LateEvents();
  #timer: NodeJS.Timeout | undefined;
  #pumpScheduled = false;
  #stopped = false;
  readonly #capacity: LaneCapacity;
  readonly #due: DueJobs;
  #onCapacity: () => void = () => {};

  readonly retryDelays: readonly number[];

  constructor(private readonly options: LaneOptions) {
    this.retryDelays = options.retryDelays;
    this.#exits = new LaneExits({ ...options, recorder: options.attempts.recorder });
    this.#capacity = new LaneCapacity(options.slots, options.capacity);
    this.#due = new DueJobs(options.db);
    this.#timer = setInterval(() => this.#expire(), TICK);
    options.slots.onRelease(() => this.pump());
  }

  /** The listener is called when the lane has capacity again after it refused events. */
  onCapacity(listener: () => void): void {
    this.#onCapacity = listener;
  }

  /** The number of first attempts that the lane still takes into memory. */
  get capacityLeft(): number {
    return this.#stopped ? 0 : this.#capacity.free;
  }

  /** Clients over their share of the lane. Their events stay in the table for now. */
  get saturated(): string[] {
    return this.#capacity.saturated;
  }

  committed(event: CommittedEvent): void {
    if (event.deliveries.length === 0) this.options.onDue({ ...event, attempts: 0 }, false);
    else if (this.options.slots.active > 0) this.accept(event, performance.now());
    else if (this.#keep(event, performance.now())) this.#pumpSoon();
  }

  /**
   * Takes an event that was just leased.
   * @param leasedAt as `LaneEvent` has it
   * @returns false when it has no capacity and returns the event
   */
  accept(event: CommittedEvent, leasedAt: number): boolean {
    const kept = this.#keep(event, leasedAt);
    if (kept) this.pump();
    return kept;
  }

  #keep(event: CommittedEvent, leasedAt: number): boolean {
    const { jobs } = new LaneEvent(event, leasedAt, this.options.workflows);
    if (this.#stopped || !this.#capacity.admits(event.clientId, jobs.length)) {
      void this.#exits.returnToQueue(jobs);
      return false;
    }
    for (const job of jobs) {
      const { endpointId, maxConcurrency } = job.delivery;
      this.options.slots.enqueue(event.clientId, endpointId, job, leasedAt, maxConcurrency);
    }
    return true;
  }

  /**
   * The response to the change is written before the attempt is signed and sent. Under load the response does not wait
   * for this attempt alone, and the lane sends at once.
   */
  #pumpSoon(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    setImmediate(() => {
      this.#pumpScheduled = false;
      this.pump();
    });
  }

  /** Starts the jobs that have a slot. */
  pump(): void {
    while (!this.#stopped && this.options.attempts.recorder.waiting < UNRECORDED) {
      const job = this.options.slots.next();
      if (!job) break;
      void this.#exits.inBackground(this.#run(job));
    }
    if (this.#capacity.hasRecovered) this.#onCapacity();
  }

  /** Ends the lane: it starts no attempt, records those under way, and returns the waiting jobs to the table. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    const waiting = this.options.slots.expire({ stuck: Number.POSITIVE_INFINITY, others: Number.POSITIVE_INFINITY }, 0);
    void this.#exits.returnToQueue(waiting.map(({ job }) => job));
    await this.#exits.drained();
  }

  async #run(job: LaneJob): Promise<void> {
    const { event, delivery } = job;
    const { slots, attempts, log } = this.options;
    const { clientId, eventId, body, traceparent } = event.event;
    let sent = false;
    let last = false;
    const releaseSlot = () => slots.release(clientId, delivery.endpointId);
    try {
      const isLate = () => performance.now() - event.leasedAt > RETURN_AFTER;
      const isDue = isLate() || (await this.#due.has(job));
      if (isLate()) {
        // The slot stays taken meanwhile, so that few returns run at once.
        await this.#exits.returnToQueue([job]);
        return;
      }
      if (!isDue) {
        this.#exits.handOver(job);
        return;
      }
      const plan = {
        number: 1,
        trigger: 'schedule' as const,
        nextDelay: delayAfter(event.event.ladder ?? this.retryDelays, 1),
        single: false,
      };
      event.begin(delivery);
      const claimed = { ...delivery, eventId, clientId, body, traceparent, rung: 1 };
      await makeAttempt(attempts, claimed, plan, (outcome) => {
        // The attempt is over: the next job takes the slot while this attempt is recorded.
        sent = true;
        releaseSlot();
        const succeeded = outcome.error === null;
        event.made(delivery, succeeded);
        if (isRetriedSoon(plan, outcome)) this.#late.watch(event, performance.now());
        last = event.isOver;
        return event.settlement;
      });
      if (last) this.#exits.reportDue(event);
    } catch (error) {
      log.error(
        { err: error, event_id: eventId, delivery_id: delivery.deliveryId },
        'first attempt failed on our side',
      );
      // Sent but not recorded: the lease runs out and the sweep takes the event again. Not sent: the workflow makes it.
      if (!sent) this.#exits.handOver(job);
    } finally {
      if (!sent) releaseSlot();
    }
  }

  #expire(): void {
    this.pump();
    const now = performance.now();
    const before = { stuck: now - HAND_OVER_AFTER, others: now - RETURN_AFTER };
    const expired = this.options.slots.expire(before, (SLOW * TICK) / 1_000);
    for (const { job } of expired.filter(({ stuck }) => stuck)) this.#exits.handOver(job);
    void this.#exits.returnToQueue(expired.filter(({ stuck }) => !stuck).map(({ job }) => job));
    this.#exits.handOverAll(this.#late.take(now));
  }
}
