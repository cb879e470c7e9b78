import { LRUCache } from 'lru-cache';
import type { Handle } from '../database/database.js';
import type { Log } from '../telemetry/log.js';
import { delayAfter } from '../webhooks/ladder.js';
import { type AttemptDependencies, makeAttempt } from '../webhooks/make-attempt.js';
import type { Settlement } from '../webhooks/record.js';
import { isEndpointActive, releaseClaims, releaseEvents } from './events.js';
import type { FairQueue } from './fair-queue.js';
import type { CommittedEvent, FreshDelivery, Handover } from './handover.js';
import { LEASE } from './lease.js';
import type { ReadyEvent } from './start-queue.js';

/** What waits longer than this for a receiver that gets on slowly is left to the workflow, ms. */
const LEFT_AFTER = 5_000;
/** Slower than this, attempts a second, the workflow is no slower: beyond it a backlog is gone sooner by staying here. */
const SLOW = 20;
/** What waits for the whole lane longer goes back to the table, while its lease still holds, ms. */
const GIVEN_BACK_AFTER = LEASE.seconds * 1_000 - LEASE.leastLeft;
const TICK = 500;
/** First attempts that wait in a burst, and hardly ever under a steady load. */
const PILE = 20;
/** What has waited longer asks first whether its endpoint is still to be sent to; each endpoint once in that time, ms. */
const STALE_AFTER = 1_000;
/** The share of the capacity that must be free before the table is looked into again: more than one client can leave free. */
const ROOM_AGAIN = 3 / 4;
/** The share of the room that a client who found none must come down to before more of his is taken. */
const CLIENT_ROOM_AGAIN = 1 / 2;
/** Attempts made but not recorded yet: at more, the database is what is slow, and a crash would repeat them all. */
const UNRECORDED = 500;

export interface LaneOptions {
  db: Handle;
  places: FairQueue<LaneJob>;
  attempts: AttemptDependencies;
  retryDelays: readonly number[];
  workflows: 'every-event' | 'retries-only';
  /** First attempts that may wait in memory; what is more waits in the table. */
  capacity: number;
  /** Told of events that are ready for their workflow: `urgent` ones have something left to do. */
  onReady: (event: ReadyEvent, urgent: boolean) => void;
  /** Told when there is room again after events had to wait in the table. */
  onRoom: () => void;
  log: Log;
}

/** A first attempt that waits for its place. */
export interface LaneJob {
  event: LaneEvent;
  delivery: FreshDelivery;
}

interface LaneEvent {
  event: CommittedEvent;
  claimedAt: number;
  /** First attempts not over yet. */
  open: number;
  /** Deliveries that need another attempt, which is the workflow's. */
  left: number;
  givenBack: boolean;
}

/** The express lane: first attempts at once, bounded, fair across clients (design, The one path). */
export class ExpressLane implements Handover {
  readonly claims = true;
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #refused = false;
  /** Clients that found no room. */
  readonly #crowded = new Set<string>();

  readonly #active: LRUCache<string, boolean>;

  constructor(private readonly options: LaneOptions) {
    const fetchMethod = (endpointId: string) => isEndpointActive(options.db, endpointId);
    this.#active = new LRUCache({ max: 10_000, ttl: STALE_AFTER, fetchMethod });
    this.#timer = setInterval(() => this.#expire(), TICK);
  }

  /** How many more first attempts it takes into memory. */
  get room(): number {
    return this.#stopped ? 0 : Math.max(0, this.options.capacity - this.options.places.waiting);
  }

  /** Clients of whom so much waits here that nothing is to be taken from the table for them: claims would only be given back. */
  get crowded(): string[] {
    for (const clientId of this.#crowded) {
      if (this.options.places.waitingOf(clientId) <= this.room * CLIENT_ROOM_AGAIN) this.#crowded.delete(clientId);
    }
    return [...this.#crowded];
  }

  /** Whether first attempts pile up: what can wait gives way. */
  get busy(): boolean {
    return this.options.places.waiting > PILE;
  }

  committed(event: CommittedEvent): void {
    if (event.deliveries.length === 0) this.options.onReady({ ...event, attempts: 0 }, false);
    else this.accept(event);
  }

  /** Takes an event whose first attempts were claimed just now; false where it has no room and gives them back. */
  accept(event: CommittedEvent): boolean {
    const now = performance.now();
    const tracked = { event, claimedAt: now, open: event.deliveries.length, left: 0, givenBack: false };
    const jobs = event.deliveries.map((delivery) => ({ event: tracked, delivery }));
    if (!this.#hasRoom(event)) {
      this.#refused = true;
      this.#crowded.add(event.clientId);
      this.#background(this.#giveBack(jobs));
      return false;
    }
    for (const job of jobs) this.options.places.push(event.clientId, job.delivery.endpointId, job, now);
    this.pump();
    return true;
  }

  /** No client has more waiting than there is room left, so that a flood of one leaves room for the others. */
  #hasRoom({ clientId, deliveries }: CommittedEvent): boolean {
    return this.options.places.waitingOf(clientId) + deliveries.length <= this.room;
  }

  /** Starts what has a place; to be called too when a place was given back elsewhere. */
  pump(): void {
    while (!this.#stopped && this.options.attempts.recorder.waiting < UNRECORDED) {
      const job = this.options.places.take();
      if (!job) break;
      this.#background(this.#run(job));
    }
    if (this.#refused && this.room > this.options.capacity * ROOM_AGAIN) {
      this.#refused = false;
      this.options.onRoom();
    }
  }

  /** Ends: nothing new begins, what runs is recorded, what waits goes back to the table. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    const waiting = this.options.places.expire(
      { stuck: Number.POSITIVE_INFINITY, others: Number.POSITIVE_INFINITY },
      0,
    );
    this.#background(this.#giveBack(waiting.map(({ job }) => job)));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(job: LaneJob): Promise<void> {
    const { event, delivery } = job;
    const { places, attempts, log } = this.options;
    const { clientId, eventId, body, traceparent } = event.event;
    let sent = false;
    let last = false;
    const freePlace = () => {
      places.done(clientId, delivery.endpointId);
      this.pump();
    };
    try {
      if (performance.now() - event.claimedAt > GIVEN_BACK_AFTER) {
        await this.#giveBack([job]);
        return;
      }
      if (!(await this.#isWanted(job))) {
        await this.#leave([job]);
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
        freePlace();
        event.open--;
        if (outcome.error !== null) event.left++;
        last = event.open === 0;
        return this.#settlement(event);
      });
      if (last) this.#ready(event);
    } catch (error) {
      log.error(
        { err: error, event_id: eventId, delivery_id: delivery.deliveryId },
        'first attempt failed on our side',
      );
      // Sent but not recorded: the lease runs out and the sweep takes the event again. Not sent: the workflow tries.
      if (!sent) this.#background(this.#leave([job]));
    } finally {
      if (!sent) freePlace();
    }
  }

  /** A change of a second ago may have been overtaken: the endpoint disabled or deleted, this delivery cancelled. */
  async #isWanted({ event, delivery }: LaneJob): Promise<boolean> {
    if (performance.now() - event.claimedAt <= STALE_AFTER) return true;
    return (await this.#active.fetch(delivery.endpointId)) ?? true;
  }

  /** What to write about the event with its last first attempt; undefined while others are open. */
  #settlement({ event, open, left, givenBack }: LaneEvent): Settlement | undefined {
    if (open > 0) return undefined;
    if (givenBack) return { eventId: event.eventId, outbox: 'attempt', held: false };
    if (left === 0 && this.options.workflows === 'retries-only') {
      return { eventId: event.eventId, outbox: 'done', held: false };
    }
    return { eventId: event.eventId, outbox: 'start', held: left > 0 };
  }

  #ready({ event, left, givenBack }: LaneEvent): void {
    if (givenBack || (left === 0 && this.options.workflows === 'retries-only')) return;
    this.options.onReady({ ...event, attempts: left }, left > 0);
  }

  #expire(): void {
    this.pump();
    const now = performance.now();
    const before = { stuck: now - LEFT_AFTER, others: now - GIVEN_BACK_AFTER };
    const expired = this.options.places.expire(before, (SLOW * TICK) / 1_000);
    this.#background(this.#leave(expired.filter(({ stuck }) => stuck).map(({ job }) => job)));
    this.#background(this.#giveBack(expired.filter(({ stuck }) => !stuck).map(({ job }) => job)));
  }

  /** To the workflow, whose activities wait their turn without holding a place here. One statement, however many. */
  async #leave(jobs: readonly LaneJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#releaseClaims(jobs);
    for (const { event } of jobs) {
      event.open--;
      event.left++;
      this.#background(this.#settle(event));
    }
  }

  /** To the table, from where the sweep of any worker takes it again. */
  async #giveBack(jobs: readonly LaneJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#releaseClaims(jobs);
    for (const { event } of jobs) {
      event.open--;
      event.givenBack = true;
    }
    const over = new Set(jobs.map(({ event }) => event).filter(({ open }) => open === 0));
    if (over.size > 0)
      await releaseEvents(
        this.options.db,
        [...over].map(({ event }) => event.eventId),
      );
  }

  #releaseClaims(jobs: readonly LaneJob[]): Promise<void> {
    return releaseClaims(
      this.options.db,
      jobs.map(({ delivery }) => delivery.deliveryId),
    );
  }

  async #settle(event: LaneEvent): Promise<void> {
    const settlement = this.#settlement(event);
    if (!settlement) return;
    await this.options.attempts.recorder.record(undefined, settlement);
    this.#ready(event);
  }

  #background(work: Promise<void>): void {
    const guarded = work
      .catch((error) => this.options.log.warn({ err: error }, 'left to the sweep'))
      .finally(() => this.#running.delete(guarded));
    this.#running.add(guarded);
  }
}
