import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Batcher } from '../platform/database/batcher.js';
import type { Handle } from '../platform/database/database.js';
import { isUnreachable, reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { timeOf } from '../platform/ids.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { AttemptKeys, Handover, LeasedAttempt, QueuedEvent } from './handover.js';
import type { LiveWorkers } from './live-workers.js';
import { type AttemptDependencies, type AttemptResult, makeAttempt, watchEndpoints } from './make-attempt.js';
import {
  BATCH,
  type Cursor,
  dropUndue,
  freeExpired,
  giveBack,
  LEASE,
  type LeasedRow,
  leaseByName,
  leaseHeads,
  leaseOfEndpoints,
} from './queue.js';
import type { Slots } from './slots.js';
import type { Waiting } from './waiting.js';

const INTERVAL = 1_000;
/** An attempt that has waited longer than this after its lease is given back, ms. */
const GIVEN_BACK_AFTER = LEASE.seconds * 1_000 - LEASE.leastLeft;
/** Attempts made but not recorded yet. With more than these Postgres is slow, and a crash would repeat them all. */
const UNRECORDED = 500;
/**
 * After a lease of fewer attempts than this, and than it asked for, the queue is nearly empty: new ones gather for
 * `GATHER`, ms, so that the next lease has many.
 */
const LARGE = 50;
const GATHER = 20;
/** Leases that are given back share a statement for this time, ms. */
const GIVING_BACK = 5;
/** The endpoints without room are looked for once in this time, ms. */
const FULL_KEPT = 10;
/** A commit that took longer than this, ms, has used up a part of the leases that its insert gave. */
const SLOW_COMMIT = 1_000;

export interface DispatcherOptions {
  db: Handle;
  /** The lease token of this process: a UUID that is new for each. */
  token: string;
  slots: Slots<Job>;
  workers: Pick<LiveWorkers, 'of' | 'count'>;
  /** ENDPOINT_CONCURRENCY */
  perEndpoint: number;
  attempts: AttemptDependencies;
  retryDelays: readonly number[];
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'queued' | 'expired'>>;
  log: Log;
}

/** A leased attempt in memory. */
export interface Job {
  attempt: LeasedAttempt;
  /** By `performance.now()`, before the statement that leased it. */
  leasedAt: number;
}

/**
 * Makes every attempt of this process. It leases attempts from the queue, waits for their slots, makes them and records
 * them. Attempts reach it in three ways:
 *
 * - An insert or a record of this process leases its attempt at once (`lease`, `RecordedAttempt.next`).
 * - By name: an activity or a manual retry asks for one attempt, and a slot is free for it.
 * - From the queue: on a notification and each second it scans the heads of all lines; while an endpoint that it leased
 *   from has room again, it leases the next ones of that endpoint.
 *
 * It leases of an endpoint only what it expects to make within a second, so that other workers can make the rest. What
 * finds no slot within 10 s is given back.
 */
export class Dispatcher implements Handover {
  readonly retryDelays: readonly number[];
  readonly #held = new Map<string, Job>();
  readonly #inFlight = new Set<string>();
  readonly #waiters = new Map<string, Set<(result: AttemptResult | undefined) => void>>();
  /** Endpoints whose lines may have more attempts in the queue, with their clients. */
  readonly #more = new Map<string, string>();
  /** Endpoints with a low limit, all of which other workers have. */
  readonly #elsewhere = new LRUCache<string, number>({ max: 10_000 });
  readonly #byName: Batcher<string, boolean>;
  readonly #isStillDue: ReturnType<typeof watchEndpoints>;
  readonly #loop: Periodic;
  readonly #running = new Set<Promise<void>>();
  #returned: Job[] = [];
  #full: { at: number; ids: readonly string[] } = { at: 0, ids: [] };
  #cursor: Cursor | null = null;
  #scan = true;
  #nextAt = 0;
  #stopped = false;

  constructor(private readonly options: DispatcherOptions) {
    const { db, token, log } = options;
    this.retryDelays = options.retryDelays;
    this.#isStillDue = watchEndpoints(db, token);
    this.#byName = new Batcher({
      run: async (ids: readonly string[]) => {
        const leased = await this.#take(() => leaseByName(db, token, ids));
        return ids.map((id) => leased.has(id));
      },
      size: BATCH,
      concurrency: 1,
      gather: 0,
    });
    this.#loop = new Periodic({
      interval: INTERVAL,
      isDue: () => this.#tick(),
      run: () => this.#lease(),
      onFault: reportTo(log, 'leasing attempts failed; next try in a second'),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** The queue may have attempts that this process does not know of. */
  poll(): void {
    this.#scan = true;
    this.#loop.request();
  }

  lease(): { token: string; full: readonly string[] } | null {
    if (this.#stopped || this.options.slots.room === 0) return null;
    const now = performance.now();
    if (now - this.#full.at > FULL_KEPT) {
      const full = [...this.options.slots.allowances(), ...this.#elsewhereNow()].filter(
        ({ attempts }) => attempts === 0,
      );
      this.#full = { at: now, ids: full.map(({ endpointId }) => endpointId) };
    }
    return { token: this.options.token, full: this.#full.ids };
  }

  committed(event: QueuedEvent): void {
    const { eventId, clientId, body, traceparent } = event;
    const isOnly = event.deliveries.length === 1;
    const first = { line: 'fresh', number: 1, trigger: 'schedule', single: false } as const;
    const isIdle = this.options.slots.active === 0;
    const leasedAt = leasedWith(eventId);
    for (const { leasedUntil, ...delivery } of event.deliveries) {
      const attempt = { ...delivery, eventId, clientId, body, traceparent, isOnly, ...first };
      if (leasedUntil) this.#keep({ attempt: { ...attempt, leasedUntil }, leasedAt });
      else this.#expectMore(attempt);
    }
    // The response to the change is written before the attempt is signed and sent. Under load the response does not wait
    // for this attempt alone, and the attempt starts at once.
    if (isIdle) setImmediate(() => this.pump());
    else this.pump();
  }

  queued(attempt: AttemptKeys): void {
    void this.leaseNow(attempt).catch((error) => this.#report(error, attempt.deliveryId));
  }

  /** Leases one attempt by name if a slot is free for it. @returns whether this process makes it now */
  async leaseNow({ deliveryId, clientId, endpointId }: AttemptKeys): Promise<boolean> {
    if (this.#stopped) return false;
    if (this.#held.has(deliveryId)) return true;
    if (this.options.slots.isFree(clientId, endpointId)) return this.#byName.run(deliveryId);
    this.#expectMore({ clientId, endpointId });
    return false;
  }

  /**
   * Waits for the result of an attempt in this process.
   * @param patience ms for which it waits until the attempt starts
   * @returns undefined if it was not made here in that time
   */
  result(deliveryId: string, patience: number): Promise<AttemptResult | undefined> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(deliveryId) ?? new Set();
      this.#waiters.set(deliveryId, waiters);
      const end = (result: AttemptResult | undefined) => {
        clearTimeout(timer);
        waiters.delete(end);
        if (waiters.size === 0) this.#waiters.delete(deliveryId);
        resolve(result);
      };
      const timer = setTimeout(() => {
        if (!this.#inFlight.has(deliveryId)) end(undefined);
      }, patience);
      waiters.add(end);
    });
  }

  /** Starts the attempts that have a slot. */
  pump(): void {
    while (!this.#stopped && this.options.attempts.recorder.waiting < UNRECORDED) {
      const job = this.options.slots.next();
      if (!job) return;
      this.#inBackground(this.#run(job));
    }
  }

  /** Starts no further attempt, records those in flight, and gives the others back. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop.stop();
    this.#giveBack(this.options.slots.expire(Number.POSITIVE_INFINITY));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(job: Job): Promise<void> {
    const { attempt, leasedAt } = job;
    const { deliveryId, clientId, endpointId } = attempt;
    const { slots, attempts } = this.options;
    let sentAt: number | undefined;
    const release = () => {
      if (sentAt !== undefined) return;
      sentAt = performance.now();
      slots.release(clientId, endpointId);
      this.pump();
      this.#refill(clientId, endpointId);
    };
    const isLate = () => performance.now() - leasedAt > GIVEN_BACK_AFTER;
    this.#inFlight.add(deliveryId);
    let result: AttemptResult | undefined;
    try {
      const isDue = isLate() || (await this.#isStillDue(attempt, leasedAt));
      if (isLate()) this.#giveBack([job]);
      else if (!isDue) await dropUndue(this.options.db, this.options.token, [deliveryId]);
      else result = await makeAttempt(attempts, attempt, release);
    } catch (error) {
      // The row is free again when the lease ends.
      this.#report(error, deliveryId);
    } finally {
      this.#inFlight.delete(deliveryId);
      if (this.#held.get(deliveryId) === job) this.#held.delete(deliveryId);
      const { number = 0, next, leasedUntil } = result?.recorded ?? {};
      if (next && leasedUntil) {
        const again = { line: 'fresh', number: number + 1, trigger: next, single: false, leasedUntil } as const;
        this.#keep({ attempt: { ...attempt, ...again }, leasedAt: sentAt ?? leasedAt });
      }
      // It was recorded before, perhaps by this process with a response that was lost, which leased the next one here.
      if (result && !result.recorded) this.#giveBack([{ ...job, attempt: { ...attempt, leasedUntil: null } }]);
      release();
      if (next) this.pump();
      for (const end of this.#waiters.get(deliveryId) ?? []) end(result);
    }
  }

  /** Keeps a leased attempt until it has a slot, or gives it back. */
  #keep(job: Job): void {
    const { attempt, leasedAt } = job;
    const { deliveryId, clientId, endpointId, line, maxConcurrency } = attempt;
    const { slots, workers, perEndpoint } = this.options;
    const max = maxConcurrency ?? perEndpoint;
    const isElsewhere = workers.of(endpointId, max) === 0 && workers.count > max;
    if (isElsewhere) {
      this.#elsewhere.set(endpointId, max);
      this.#more.delete(endpointId);
    }
    if (this.#stopped || isElsewhere || !slots.admits(clientId)) {
      this.#giveBack([job]);
      return;
    }
    this.#held.set(deliveryId, job);
    slots.enqueue(clientId, endpointId, line, job, leasedAt, maxConcurrency);
  }

  /** Keeps what `lease` leases. @returns the ids of the deliveries */
  async #take(lease: () => Promise<readonly LeasedRow[]>): Promise<Set<string>> {
    const leasedAt = performance.now();
    const rows = await lease();
    if (rows.length > 0) failpoint('after-lease');
    const undue: string[] = [];
    for (const { isDue, ...attempt } of rows) {
      // Its lease ended while it waited for its record. It is still made here, once.
      if (this.#held.has(attempt.deliveryId)) continue;
      if (isDue) this.#keep({ attempt, leasedAt });
      else undue.push(attempt.deliveryId);
    }
    this.pump();
    if (undue.length > 0) await dropUndue(this.options.db, this.options.token, undue);
    return new Set(rows.map(({ deliveryId }) => deliveryId));
  }

  #expectMore({ clientId, endpointId }: Pick<AttemptKeys, 'clientId' | 'endpointId'>): void {
    this.#more.set(endpointId, clientId);
    this.#refill(clientId, endpointId);
  }

  #refill(clientId: string, endpointId: string): void {
    if (this.#more.has(endpointId) && this.#hasRoom(clientId, endpointId)) this.#loop.request();
  }

  /** Room for at least half of what the endpoint may have here, so that one statement leases many attempts. */
  #hasRoom(clientId: string, endpointId: string): boolean {
    return !this.#elsewhere.has(endpointId) && this.options.slots.isHalfEmpty(clientId, endpointId);
  }

  /** @returns true: endpoints may have room again although nothing is new in the queue */
  async #tick(): Promise<true> {
    const { slots, db, waiting } = this.options;
    slots.tick();
    this.pump();
    this.#giveBack(slots.expire(performance.now() - GIVEN_BACK_AFTER));
    const { queued, expired } = await waiting();
    const freed = expired && (await freeExpired(db).catch(() => false));
    if (queued || freed) this.#scan = true;
    return true;
  }

  /** Leases what this process has room for. */
  async #lease(): Promise<void> {
    while (!this.#stopped && this.options.slots.room > 0) {
      const rest = this.#nextAt - performance.now();
      if (rest > 0) await sleep(rest);
      const refilled = [...this.#more].filter(([endpointId, clientId]) => this.#hasRoom(clientId, endpointId));
      if (!this.#scan && refilled.length === 0) return;
      const { leased, asked } = this.#scan ? await this.#leaseHeads() : await this.#leaseOf(refilled);
      if (leased < Math.min(asked, LARGE)) this.#nextAt = performance.now() + GATHER;
    }
  }

  async #leaseHeads(): Promise<{ leased: number; asked: number }> {
    const { db, token, slots, workers, perEndpoint } = this.options;
    // Reset before the queue is read: what is queued meanwhile sets it again.
    const from = this.#cursor;
    this.#scan = false;
    const request = {
      token,
      attempts: Math.ceil((2 * perEndpoint) / workers.count),
      allowances: [...slots.allowances(), ...this.#elsewhereNow()],
      limit: Math.min(BATCH, slots.room),
    };
    const leased = await this.#take(async () => {
      const scanned = await leaseHeads(db, request, from);
      this.#cursor = scanned.next;
      // The scan is over when it has seen all lines and leased less than it could.
      if (scanned.next !== null || from !== null || scanned.leased.length === request.limit) this.#scan = true;
      for (const { endpointId, clientId } of scanned.leased) this.#more.set(endpointId, clientId);
      return scanned.leased;
    });
    return { leased: leased.size, asked: request.limit };
  }

  async #leaseOf(
    endpoints: readonly (readonly [endpointId: string, clientId: string])[],
  ): Promise<{ leased: number; asked: number }> {
    const { db, token, slots, perEndpoint } = this.options;
    const some = endpoints.slice(0, BATCH);
    const allowances = some.map(([endpointId, clientId]) => {
      this.#more.delete(endpointId);
      return { endpointId, attempts: slots.allowance(clientId, endpointId) ?? 2 * perEndpoint };
    });
    const request = { token, allowances, limit: Math.min(BATCH, slots.room) };
    const leased = await this.#take(async () => {
      const rows = await leaseOfEndpoints(db, request);
      for (const { endpointId, clientId } of rows) this.#more.set(endpointId, clientId);
      return rows;
    });
    const asked = allowances.reduce((sum, { attempts }) => sum + attempts, 0);
    return { leased: leased.size, asked: Math.min(asked, request.limit) };
  }

  *#elsewhereNow(): Iterable<{ endpointId: string; attempts: number }> {
    const { workers } = this.options;
    for (const [endpointId, max] of this.#elsewhere.entries()) {
      if (workers.of(endpointId, max) === 0) yield { endpointId, attempts: 0 };
      else this.#elsewhere.delete(endpointId);
    }
  }

  #giveBack(jobs: readonly Job[]): void {
    if (jobs.length === 0) return;
    for (const job of jobs) {
      const { deliveryId } = job.attempt;
      if (this.#held.get(deliveryId) === job) this.#held.delete(deliveryId);
    }
    const isFirst = this.#returned.length === 0;
    this.#returned.push(...jobs);
    if (isFirst) this.#inBackground(this.#giveBackSoon());
  }

  async #giveBackSoon(): Promise<void> {
    await sleep(GIVING_BACK);
    const attempts = this.#returned.splice(0).map(({ attempt }) => attempt);
    await giveBack(this.options.db, this.options.token, attempts).catch((error) =>
      this.#report(error, attempts[0]?.deliveryId),
    );
    // Not before: a lease that came first would find none, and look no more.
    for (const attempt of attempts) if (!this.#elsewhere.has(attempt.endpointId)) this.#expectMore(attempt);
  }

  /** Runs work that `stop` waits for. */
  #inBackground(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #report(error: unknown, deliveryId: string | undefined): void {
    const level = isUnreachable(error) ? 'warn' : 'error';
    this.options.log[level]({ err: error, delivery_id: deliveryId }, 'an attempt was not made; it stays in the queue');
  }
}

/** When the insert of an event leased its attempts at the earliest, by `performance.now()`: its id was made before that. */
function leasedWith(eventId: string): number {
  const took = Date.now() - timeOf(eventId);
  return performance.now() - (took > SLOW_COMMIT ? took : 0);
}
