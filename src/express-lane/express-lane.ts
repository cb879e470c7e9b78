import { LRUCache } from 'lru-cache';
import type { WorkflowMode } from '../config.js';
import type { Handle } from '../database/database.js';
import { delayAfter } from '../ladder.js';
import { LEASE } from '../lease.js';
import type { DueEvent } from '../outbox/due-event.js';
import { isEndpointActive, releaseClaims, releaseEvents } from '../outbox/events.js';
import type { CommittedEvent, Handover } from '../outbox/handover.js';
import type { Log } from '../telemetry/log.js';
import { type AttemptDependencies, makeAttempt } from '../webhooks/make-attempt.js';
import type { AttemptSlots } from './attempt-slots.js';
import { LaneCapacity } from './lane-capacity.js';
import { LaneEvent, type LaneJob } from './lane-event.js';

/** What waits longer than this for a receiver that gets on slowly is left to the workflow, ms. */
const LEFT_AFTER = 5_000;
/** Slower than this, attempts a second, the workflow is no slower: beyond it a backlog is gone sooner by staying here. */
const SLOW = 20;
/** What waits for the whole lane longer goes back to the table, while its lease still holds, ms. */
const GIVEN_BACK_AFTER = LEASE.seconds * 1_000 - LEASE.leastLeft;
const TICK = 500;
/** What has waited longer asks first whether its endpoint is still to be sent to; each endpoint once in that time, ms. */
const STALE_AFTER = 1_000;
/** Attempts made but not recorded yet: at more, the database is what is slow, and a crash would repeat them all. */
const UNRECORDED = 500;

export interface LaneOptions {
  db: Handle;
  slots: AttemptSlots<LaneJob>;
  attempts: AttemptDependencies;
  retryDelays: readonly number[];
  workflows: WorkflowMode;
  /** First attempts that may wait in memory; what is more waits in the table. */
  capacity: number;
  /** Told of events that are ready for their workflow: `urgent` ones have something left to do. */
  onDue: (event: DueEvent, urgent: boolean) => void;
  log: Log;
}

/** The express lane: first attempts at once, bounded, fair across clients (design, The one path). */
export class ExpressLane implements Handover {
  readonly claims = true;
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  readonly #capacity: LaneCapacity;
  readonly #active: LRUCache<string, boolean>;
  #onCapacity: () => void = () => {};

  constructor(private readonly options: LaneOptions) {
    this.#capacity = new LaneCapacity(options.slots, options.capacity);
    const fetchMethod = (endpointId: string) => isEndpointActive(options.db, endpointId);
    this.#active = new LRUCache({ max: 10_000, ttl: STALE_AFTER, fetchMethod });
    this.#timer = setInterval(() => this.#expire(), TICK);
    options.slots.onRelease(() => this.pump());
  }

  /** The listener is called when the lane has capacity again after events had to wait in the table. */
  onCapacity(listener: () => void): void {
    this.#onCapacity = listener;
  }

  /** How many more first attempts it takes into memory. */
  get capacityLeft(): number {
    return this.#stopped ? 0 : this.#capacity.free;
  }

  /** Clients for whom nothing is to be taken from the table now. */
  get saturated(): string[] {
    return this.#capacity.saturated;
  }

  committed(event: CommittedEvent): void {
    if (event.deliveries.length === 0) this.options.onDue({ ...event, attempts: 0 }, false);
    else this.accept(event);
  }

  /** Takes an event whose first attempts were claimed just now; false where it has no room and gives them back. */
  accept(event: CommittedEvent): boolean {
    const now = performance.now();
    const { jobs } = new LaneEvent(event, now, this.options.workflows);
    if (this.#stopped || !this.#capacity.admits(event.clientId, jobs.length)) {
      this.#background(this.#returnToQueue(jobs));
      return false;
    }
    for (const job of jobs) this.options.slots.enqueue(event.clientId, job.delivery.endpointId, job, now);
    this.pump();
    return true;
  }

  /** Starts the jobs that have a slot. */
  pump(): void {
    while (!this.#stopped && this.options.attempts.recorder.waiting < UNRECORDED) {
      const job = this.options.slots.next();
      if (!job) break;
      this.#background(this.#run(job));
    }
    if (this.#capacity.hasRecovered) this.#onCapacity();
  }

  /** Ends: nothing new begins, what runs is recorded, what waits goes back to the table. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    const waiting = this.options.slots.expire({ stuck: Number.POSITIVE_INFINITY, others: Number.POSITIVE_INFINITY }, 0);
    this.#background(this.#returnToQueue(waiting.map(({ job }) => job)));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(job: LaneJob): Promise<void> {
    const { event, delivery } = job;
    const { slots, attempts, log } = this.options;
    const { clientId, eventId, body, traceparent } = event.event;
    let sent = false;
    let last = false;
    const releaseSlot = () => slots.release(clientId, delivery.endpointId);
    try {
      if (performance.now() - event.claimedAt > GIVEN_BACK_AFTER) {
        await this.#returnToQueue([job]);
        return;
      }
      if (!(await this.#isWanted(job))) {
        await this.#handOver([job]);
        return;
      }
      const plan = {
        number: 1,
        trigger: 'schedule' as const,
        nextDelay: delayAfter(this.options.retryDelays, 1),
        single: false,
      };
      const claimed = { ...delivery, eventId, clientId, body, traceparent, rung: 1 };
      await makeAttempt(attempts, claimed, plan, (outcome) => {
        // The receiver has answered: the next may go while this one is recorded.
        sent = true;
        releaseSlot();
        event.made(outcome.error === null);
        last = event.isOver;
        return event.settlement;
      });
      if (last) this.#ready(event);
    } catch (error) {
      log.error(
        { err: error, event_id: eventId, delivery_id: delivery.deliveryId },
        'first attempt failed on our side',
      );
      // Sent but not recorded: the lease runs out and the sweep takes the event again. Not sent: the workflow tries.
      if (!sent) this.#background(this.#handOver([job]));
    } finally {
      if (!sent) releaseSlot();
    }
  }

  /** A change of a second ago may have been overtaken: the endpoint disabled or deleted, this delivery cancelled. */
  async #isWanted({ event, delivery }: LaneJob): Promise<boolean> {
    if (performance.now() - event.claimedAt <= STALE_AFTER) return true;
    return (await this.#active.fetch(delivery.endpointId)) ?? true;
  }

  #ready({ event, attemptsLeft }: LaneEvent): void {
    if (attemptsLeft === undefined) return;
    this.options.onDue({ ...event, attempts: attemptsLeft }, attemptsLeft > 0);
  }

  #expire(): void {
    this.pump();
    const now = performance.now();
    const before = { stuck: now - LEFT_AFTER, others: now - GIVEN_BACK_AFTER };
    const expired = this.options.slots.expire(before, (SLOW * TICK) / 1_000);
    this.#background(this.#handOver(expired.filter(({ stuck }) => stuck).map(({ job }) => job)));
    this.#background(this.#returnToQueue(expired.filter(({ stuck }) => !stuck).map(({ job }) => job)));
  }

  /** To the workflow, whose activities wait their turn without holding a place here. One statement, however many. */
  async #handOver(jobs: readonly LaneJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#releaseClaims(jobs);
    for (const { event } of jobs) {
      event.handOver();
      this.#background(this.#settle(event));
    }
  }

  /** To the table, from where the sweep of any worker takes it again. */
  async #returnToQueue(jobs: readonly LaneJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#releaseClaims(jobs);
    for (const { event } of jobs) event.returnToQueue();
    const over = jobs.filter(({ event }) => event.isOver).map(({ event }) => event.event.eventId);
    if (over.length > 0) await releaseEvents(this.options.db, [...new Set(over)]);
  }

  #releaseClaims(jobs: readonly LaneJob[]): Promise<void> {
    return releaseClaims(
      this.options.db,
      jobs.map(({ delivery }) => delivery.deliveryId),
    );
  }

  async #settle(event: LaneEvent): Promise<void> {
    if (!event.settlement) return;
    await this.options.attempts.recorder.record(undefined, event.settlement);
    this.#ready(event);
  }

  #background(work: Promise<void>): void {
    const guarded = work
      .catch((error) => this.options.log.warn({ err: error }, 'left to the sweep'))
      .finally(() => this.#running.delete(guarded));
    this.#running.add(guarded);
  }
}
