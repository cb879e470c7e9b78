import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { cancelLeft } from '../endpoints/disable.js';
import { Batcher } from '../platform/database/batcher.js';
import type { Handle } from '../platform/database/database.js';
import { EnvelopeError } from '../platform/database/encryption.js';
import { isUnreachable, reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import {
  type AttemptKeys,
  type Handover,
  type LeasedAttempt,
  type LeaseTerms,
  NOTHING_LEASED,
  type QueuedAt,
  type QueuedEvent,
} from './handover.js';
import { BATCH, type Cursor, LEASE, leaseById, leaseOfEndpoints, readHeads } from './lease.js';
import type { LiveWorkers } from './live-workers.js';
import { type AttemptDependencies, type AttemptResult, lookAgain, makeAttempt } from './make-attempt.js';
import { freeExpired, giveBack } from './queue.js';
import { NotSent } from './sender/attempt-error.js';
import type { Slots } from './slots.js';
import type { Waiting } from './waiting.js';
import type { WakeUps } from './wake-ups.js';

const INTERVAL = 1_000;
/** An attempt that has waited longer than this after its lease is given back, ms. */
const GIVEN_BACK_AFTER = LEASE.seconds * 1_000 - LEASE.leastLeft;
/** Attempts made but not recorded yet. With more than these Postgres is slow, and a crash would repeat them all. */
const UNRECORDED = 500;
/** Leases of endpoints begin at least this long apart, ms, so that each finds a batch. */
const GATHER = 8;
/**
 * After a fault of this process, such as a secret that does not open, it leases nothing of the endpoint for this time,
 * ms. Of more endpoints than `max` it may lease earlier: each costs an attempt that fails.
 */
const PAUSE = { ttl: 3_000, max: 10_000 };

export interface DispatcherOptions {
  db: Handle;
  /** The lease token of this process: a UUID that is new for each. */
  token: string;
  slots: Slots<Job>;
  workers: Pick<LiveWorkers, 'of' | 'count'>;
  /** Tells the other workers of attempts that this one leaves to them, or that none has leased. */
  wakeUps: Omit<WakeUps, 'flush'>;
  /** ENDPOINT_CONCURRENCY */
  perEndpoint: number;
  attempts: AttemptDependencies;
  retryDelays: readonly number[];
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'queued' | 'expired'>>;
  /** Called when an attempt could not be made because its secret does not open. */
  onUnreadableSecret?: (error: EnvelopeError) => void;
  log: Log;
}

/**
 * While more attempts than `waiting` wait here, a change is answered when its own have started, at most `longest`, ms,
 * later: a process takes in no more changes than it delivers. Those of a slow receiver soon stay in the queue, and are
 * not awaited.
 */
const INTAKE = { waiting: 30, longest: 250 };

/** A leased attempt in memory. */
export class Job {
  /**
   * The end of the row's latest lease by this process: another one than the attempt's if the row was free meanwhile.
   */
  leasedUntil: string;
  /** Resolves when it starts, or is given back. */
  readonly started = Promise.withResolvers<void>();
  /** Resolves with its result; undefined: this process has no result of it. */
  readonly ended = Promise.withResolvers<AttemptResult | undefined>();

  constructor(
    readonly attempt: LeasedAttempt,
    /** By `performance.now()`, before the statement that leased it. */
    readonly leasedAt: number,
  ) {
    this.leasedUntil = attempt.leasedUntil;
  }

  end(result?: AttemptResult): void {
    this.started.resolve();
    this.ended.resolve(result);
  }
}

/**
 * Makes every attempt of this process. It leases attempts from the queue, waits for their slots, makes them and records
 * them. Attempts reach it in four ways:
 *
 * - With its event: the statement of a change of this process leases what it queues (`leaseTerms`).
 * - By id: a manual retry of this process has been committed, an activity asks for one attempt, or an attempt was made
 *   and the next one is due at once. Attempts that are asked for while a statement runs share the next one.
 * - Of an endpoint: a notification names it, or this process has leased from it and has slots for it again.
 * - From the queue: it looks which lines have free attempts, at all of them (a pass) after it may have missed
 *   notifications. The first of the live workers also looks at the next 200 lines each second (a step), and tells the
 *   others of those whose first attempt has been due for a second. What is found is like a notification.
 *
 * It leases of each line of an endpoint only what it expects to make within a second, at least twice its slots, so that
 * other workers can make the rest.
 *
 * An attempt:
 *
 * from       by                                                               to
 * –          lease                                                            held, waits for its slot
 * –          lease with no room, of an endpoint not ours or paused, after stop returned
 * held       slot                                                             in flight
 * held       10 s without a slot, stop                                        returned
 * in flight  record                                                           –
 * in flight  its number was taken, or the row was leased here again           returned
 * in flight  slot came after 10 s, fault before a byte of the request was sent returned
 * in flight  the limit of its endpoint is lower than when it was leased       returned
 * in flight  may not be made any more                                         returned
 * in flight  any other fault: the request may have been sent                  –, free when the lease ends
 * returned   the lease is given back                                          –, and its endpoint has more
 *
 * An endpoint, quiet while this process expects nothing more of it in the queue:
 *
 * from       by                                                               to
 * any        notification, scan, lease that found some or failed, attempt     more: the queue may have attempts of it
 *            left or returned
 * more       room for half of what it may have here: the loop leases          quiet, or more again
 * any        all its slots belong to other workers                            not ours: they are notified
 * not ours   this worker's share grows, which requests a pass                 quiet, or more
 * any        a fault of this process before the response                      paused: nothing of it is leased
 * paused     3 s, or an attempt has its response or failure                   more
 */
export class Dispatcher implements Handover {
  readonly retryDelays: readonly number[];
  readonly #held = new Map<string, Job>();
  /** Endpoints whose lines may have more attempts in the queue. */
  readonly #more = new Map<string, QueuedAt>();
  /** Endpoints at which this process has had a fault of its own. */
  readonly #paused = new LRUCache<string, true>(PAUSE);
  readonly #byId: Batcher<string, Job | undefined>;
  /** Endpoints of which other workers have all slots, the latest: each change's statement names them. */
  readonly #notOurs = new LRUCache<string, true>({ max: 100 });
  readonly #returns: Batcher<Job, undefined>;
  readonly #lookAgain: ReturnType<typeof lookAgain>;
  readonly #loop: Periodic;
  readonly #running = new Set<Promise<void>>();
  /** Where the next step of the scan continues, and where a pass over all lines does. */
  readonly #step: { after: Cursor | null } = { after: null };
  #pass: { after: Cursor | null } | undefined;
  #isStepDue = false;
  #nextAt = 0;
  #pumping: NodeJS.Immediate | undefined;
  #rest: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(private readonly options: DispatcherOptions) {
    const { db, token, log } = options;
    this.retryDelays = options.retryDelays;
    this.#lookAgain = lookAgain(db, token);
    this.#byId = new Batcher({
      run: async (ids: readonly string[]) => {
        if (this.#stopped) return ids.map(() => undefined);
        const taking = this.#keepAll(() => leaseById(db, token, ids));
        this.#inBackground(taking);
        const leased = await taking;
        return ids.map((id) => leased.get(id));
      },
      size: BATCH,
    });
    this.#returns = new Batcher({ run: (jobs) => this.#free(jobs), size: BATCH, concurrency: 4 });
    this.#loop = new Periodic({
      interval: INTERVAL,
      isDue: () => this.#tick(),
      run: () => this.#lease(),
      onFault: reportTo(log, 'leasing attempts failed; next try in a second'),
    });
  }

  start(): void {
    this.#pass = { after: null };
    this.#loop.start();
  }

  /** The queue may have attempts of any endpoint. */
  expectAny(): void {
    this.#notOurs.clear();
    this.#pass = { after: null };
    this.#loop.request();
  }

  /** The endpoints have attempts in the queue that no worker may know of: the others are notified too. */
  expectAndTell(at: readonly QueuedAt[]): void {
    for (const one of at) this.expect(one);
    if (this.options.workers.count > 1) this.options.wakeUps.send(at);
  }

  /**
   * The endpoint has attempts in the queue: this process leases them when it has room.
   * @returns false: it leaves them to other workers
   */
  expect(at: QueuedAt): boolean {
    if (this.avoids(at)) return false;
    this.#remember([at]);
    this.#refill(at);
    return true;
  }

  /** The endpoint has an attempt in the queue; if this process leaves it to other workers, they are notified. */
  expectOrTell(at: QueuedAt): void {
    if (this.#stopped || !this.expect(at)) this.options.wakeUps.send([at]);
  }

  /** Whether this process leaves the attempts at the endpoint to other workers now. */
  avoids({ endpointId, maxConcurrency }: QueuedAt): boolean {
    const { workers, perEndpoint } = this.options;
    const max = maxConcurrency ?? perEndpoint;
    const isNotOurs = workers.of(endpointId, max) === 0 && workers.count > max;
    if (isNotOurs) {
      this.#more.delete(endpointId);
      this.#notOurs.set(endpointId, true);
    } else this.#notOurs.delete(endpointId);
    return isNotOurs || this.#paused.has(endpointId);
  }

  leaseTerms(): LeaseTerms {
    const { token, slots, attempts } = this.options;
    if (this.#stopped || slots.room === 0 || attempts.recorder.waiting >= UNRECORDED) return NOTHING_LEASED;
    return { token, except: [...slots.full(), ...this.#paused.keys(), ...this.#notOurs.keys()] };
  }

  async committed({ clientId, deliveries, leasedAt }: QueuedEvent): Promise<void> {
    const isAhead = this.options.slots.waiting > INTAKE.waiting;
    const jobs: Job[] = [];
    for (const { leased, ...keys } of deliveries) {
      if (leased) jobs.push(this.#keep(new Job(leased, leasedAt)));
      else this.expectOrTell({ clientId, ...keys });
    }
    this.#pumpSoon();
    const started = () => Promise.all(jobs.map((job) => job.started.promise));
    if (isAhead && jobs.length > 0) await Promise.race([started(), sleep(INTAKE.longest, undefined, { ref: false })]);
  }

  queued(attempt: AttemptKeys): void {
    this.take(attempt).catch((error) => this.#report(error, attempt.deliveryId));
  }

  /**
   * Leases one attempt by its id if this process expects to make it within a second, and makes it. If it avoids the
   * endpoint, other workers are notified.
   * @returns the attempt if this process has it
   */
  async take(keys: AttemptKeys): Promise<Job | undefined> {
    const held = this.#held.get(keys.deliveryId);
    let job = held;
    try {
      const isFree = !held && !this.#stopped && !this.avoids(keys);
      if (isFree && this.#allowance(keys) > 0) job = await this.#byId.run(keys.deliveryId);
      return job;
    } finally {
      if (job === held) this.expectOrTell(keys);
    }
  }

  /** Starts attempts after what follows the commit, such as the response to the change. */
  #pumpSoon(): void {
    this.#pumping ??= setImmediate(() => {
      this.#pumping = undefined;
      this.pump();
    });
  }

  /** Starts the attempts that have a slot. */
  pump(): void {
    while (!this.#stopped && this.options.attempts.recorder.waiting < UNRECORDED) {
      const job = this.options.slots.next();
      if (!job) {
        this.#pumpAfterRest();
        return;
      }
      this.#inBackground(this.#run(job));
    }
  }

  /** Starts attempts again when the rate of an endpoint allows one. */
  #pumpAfterRest(): void {
    clearTimeout(this.#rest);
    const ms = this.options.slots.restsFor();
    if (ms !== undefined) this.#rest = setTimeout(() => this.pump(), Math.ceil(ms));
  }

  /** Starts no further attempt, records those in flight, and gives the others back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#rest);
    await this.#loop.stop();
    this.#giveBack(this.options.slots.expire(Number.POSITIVE_INFINITY));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(job: Job): Promise<void> {
    const { attempt, leasedAt } = job;
    const { deliveryId, clientId, endpointId } = attempt;
    const { slots, attempts } = this.options;
    let answeredAt: number | undefined;
    let mayBeOut = false;
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      slots.release(clientId, endpointId, answeredAt !== undefined);
      this.pump();
      this.#refill(attempt);
    };
    const onAnswered = () => {
      answeredAt = performance.now();
      this.#paused.delete(endpointId);
      release();
    };
    const isLate = () => performance.now() - leasedAt > GIVEN_BACK_AFTER;
    job.started.resolve();
    let result: AttemptResult | undefined;
    try {
      const due = isLate() ? undefined : await this.#lookAgain(attempt, leasedAt);
      const max = due?.maxConcurrency;
      // The owner may have lowered the limit, or the receiver may have asked to be spared.
      const isOver = max !== undefined && max !== attempt.maxConcurrency && !slots.isWithin(clientId, endpointId, max);
      if (due && !isOver && !isLate()) {
        mayBeOut = true;
        result = await makeAttempt(attempts, due, onAnswered);
      } else this.#giveBack([job]);
    } catch (error) {
      // An unreachable Postgres, which the look asks, says nothing about the endpoint.
      if (answeredAt === undefined && (mayBeOut || !isUnreachable(error))) {
        this.#remember([attempt]);
        this.#paused.set(endpointId, true);
      }
      // If the request may be out, the lease runs out first.
      if (!mayBeOut || error instanceof EnvelopeError || error instanceof NotSent) this.#giveBack([job]);
      if (error instanceof EnvelopeError) this.options.onUnreadableSecret?.(error);
      this.#report(error, deliveryId);
    } finally {
      if (this.#held.get(deliveryId) === job) this.#held.delete(deliveryId);
      release();
      this.pump();
      job.end(result);
      // Another attempt has its number, or this process has leased the row of the next attempt while this one was
      // running.
      const isLeftOver = (result && !result.recorded) || job.leasedUntil !== attempt.leasedUntil;
      if (isLeftOver) this.#giveBack([job]);
      else if (result?.recorded?.isQueued) this.queued(attempt);
    }
  }

  /** Keeps a leased attempt until it has a slot, or gives it back. */
  #keep(job: Job): Job {
    const { attempt, leasedAt } = job;
    const { deliveryId, clientId, endpointId, line, maxConcurrency, maxPerSecond } = attempt;
    const { slots, workers, perEndpoint } = this.options;
    const isOurs = workers.of(endpointId, maxConcurrency ?? perEndpoint) > 0;
    if (this.#stopped || !isOurs || this.avoids(attempt) || !slots.admits(clientId)) this.#giveBack([job]);
    else {
      this.#held.set(deliveryId, job);
      slots.enqueue(clientId, endpointId, line, job, leasedAt, maxConcurrency, maxPerSecond);
    }
    return job;
  }

  /** Keeps what `lease` leases. @returns what this process makes of it, by the ids of the deliveries */
  async #keepAll(lease: () => Promise<readonly LeasedAttempt[]>): Promise<Map<string, Job>> {
    const leasedAt = performance.now();
    const rows = await lease();
    if (rows.length > 0) failpoint('after-lease');
    const taken = new Map<string, Job>();
    for (const attempt of rows) {
      const held = this.#held.get(attempt.deliveryId);
      const job = held ?? new Job(attempt, leasedAt);
      taken.set(attempt.deliveryId, job);
      if (held) held.leasedUntil = attempt.leasedUntil;
      else this.#keep(job);
    }
    this.pump();
    return taken;
  }

  /** These endpoints may have more attempts in the queue. */
  #remember(rows: readonly QueuedAt[]): void {
    for (const { clientId, endpointId, maxConcurrency } of rows)
      this.#more.set(endpointId, { clientId, endpointId, maxConcurrency });
  }

  #refill(at: QueuedAt): void {
    if (this.#more.has(at.endpointId) && this.#hasRoom(at)) this.#loop.request();
  }

  /** Room for at least half of what the endpoint may have here, so that one statement leases many attempts. */
  #hasRoom(at: QueuedAt): boolean {
    const { clientId, endpointId } = at;
    return !this.avoids(at) && this.options.slots.isHalfEmpty(clientId, endpointId);
  }

  /** @returns true: endpoints may have room again although nothing is new in the queue */
  async #tick(): Promise<true> {
    const { slots, db, waiting, log } = this.options;
    slots.tick();
    this.pump();
    this.#giveBack(slots.expire(performance.now() - GIVEN_BACK_AFTER));
    const { queued, expired } = await waiting();
    this.#isStepDue = queued;
    if (expired)
      await freeExpired(db).then(
        (at) => this.expectAndTell(at),
        reportTo(log, 'clearing leases that have run out failed; next try in a second'),
      );
    return true;
  }

  /**
   * Leases what this process has room for. A scan takes turns with it, so that neither holds up the other, failing or
   * not.
   */
  async #lease(): Promise<void> {
    while (!this.#stopped) {
      let fault: { error: unknown } | undefined;
      if (this.#isScanDue) await this.#scanLines().catch((error) => (fault = { error }));
      const rest = this.#nextAt - performance.now();
      if (rest > 0) await sleep(rest);
      const refilled = this.options.slots.room > 0 ? [...this.#more.values()].filter((at) => this.#hasRoom(at)) : [];
      if (refilled.length > 0) {
        this.#nextAt = performance.now() + GATHER;
        await this.#leaseOf(refilled);
      }
      if (fault) throw fault.error;
      if (refilled.length === 0 && !this.#isScanDue) return;
    }
  }

  get #isScanDue(): boolean {
    return this.#isStepDue || this.#pass !== undefined;
  }

  async #scanLines(): Promise<void> {
    const isStep = !this.#pass;
    const scan = this.#pass ?? this.#step;
    if (isStep) this.#isStepDue = false;
    const { heads, next } = await readHeads(this.options.db, scan.after);
    scan.after = next;
    // A pass that was requested meanwhile begins anew.
    if (scan === this.#pass && next === null) this.#pass = undefined;
    const active = heads.filter(({ isActive }) => isActive);
    for (const at of active) this.expect(at);
    if (!isStep) return;
    this.expectAndTell(active.filter(({ isOverdue }) => isOverdue));
    const inactive = heads.filter(({ isActive }) => !isActive);
    if (inactive.length > 0) {
      await cancelLeft(
        this.options.db,
        inactive.map(({ endpointId }) => endpointId),
      );
    }
  }

  async #leaseOf(endpoints: readonly QueuedAt[]): Promise<void> {
    const { db, token, slots } = this.options;
    const some = endpoints.slice(0, BATCH);
    const allowances = some.map((at) => {
      this.#more.delete(at.endpointId);
      return { endpointId: at.endpointId, attempts: this.#allowance(at) };
    });
    const request = { token, allowances, limit: Math.min(BATCH, slots.room) };
    await this.#keepAll(async () => {
      const rows = await leaseOfEndpoints(db, request).catch((error) => {
        this.#remember(some);
        throw error;
      });
      // Their lines may have more. What is queued later is notified.
      this.#remember(rows.length === request.limit ? some : rows);
      return rows;
    });
  }

  /** How many attempts this process takes of an endpoint. */
  #allowance({ clientId, endpointId, maxConcurrency }: QueuedAt): number {
    const { slots, workers, perEndpoint } = this.options;
    return slots.allowance(clientId, endpointId) ?? 2 * workers.of(endpointId, maxConcurrency ?? perEndpoint);
  }

  #giveBack(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const { deliveryId } = job.attempt;
      if (this.#held.get(deliveryId) === job) this.#held.delete(deliveryId);
      job.end();
      this.#inBackground(this.#returns.run(job));
    }
  }

  async #free(jobs: readonly Job[]): Promise<undefined[]> {
    const leases = jobs.map(({ attempt: { deliveryId }, leasedUntil }) => ({ deliveryId, leasedUntil }));
    await giveBack(this.options.db, this.options.token, leases).catch((error) =>
      this.#report(error, leases[0]?.deliveryId),
    );
    // Not before: a lease that came first would find none, and look no more.
    for (const { attempt } of jobs) this.expectOrTell(attempt);
    return jobs.map(() => undefined);
  }

  /** Runs work that `stop` waits for. */
  #inBackground(work: Promise<unknown>): void {
    const end = () => void this.#running.delete(running);
    const running: Promise<void> = work.then(end, end);
    this.#running.add(running);
  }

  #report(error: unknown, deliveryId: string | undefined): void {
    const level = isUnreachable(error) ? 'warn' : 'error';
    this.options.log[level](
      { err: error, delivery_id: deliveryId },
      'an attempt was not made, or not recorded; it stays in the queue',
    );
  }
}
