import pLimit from 'p-limit';
import type { Handle } from '../database/database.js';
import { isUnreachable } from '../database/faults.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import type { EndpointShare, EndpointUse } from './attempt-slots.js';
import { beat, giveSpareSlots, leave, takeSpareSlots } from './live-workers.js';
import { SpareSlots } from './spare-slots.js';

/** ms between two heartbeats. */
const INTERVAL = 2_000;
/** A worker whose last heartbeat is older than this, ms, is dead for the others and starts no attempt itself. */
const LIFETIME = 10_000;
/** ms between two requests for spare slots. */
const ASK_AGAIN = 250;
/** Endpoints of one request. */
const BATCH = 200;

export interface SharedSlotsOptions {
  db: Handle;
  /** A UUID that is new for each process. */
  workerId: string;
  /** The attempts of an endpoint in this process: under way, and waiting. */
  useOf: (clientId: string, endpointId: string) => { active: number; waiting: number };
  /** Called when shares may have grown. */
  onGrown: () => void;
  log: Log;
}

/**
 * Divides each endpoint's limit of attempts at once among the live workers, without a statement for an attempt:
 *
 * - Each worker has the share `floor(limit / workers)`. A heartbeat every 2 s, in the table `workers`, gives the number
 *   of workers.
 * - The `limit mod workers` slots that are left are spare slots, rows of `endpoint_slots`. A worker whose jobs wait takes
 *   one that is free, renews it with each heartbeat, and gives it back when it does not need it or when another worker
 *   waits for it. A limit below the number of workers consists of spare slots alone.
 *
 * The shares add up to the limit while all workers count the same workers. After a worker has joined, the others count it
 * within 2 s; until then, and until their running attempts have ended, an endpoint may have the new worker's share in
 * addition. The share of a killed worker returns within 12 s (`LIFETIME`, `INTERVAL`). A worker that has not reached
 * Postgres for 10 s starts no attempt, since the others have its share.
 */
export class SharedSlots implements EndpointShare {
  #workers = 1;
  /** The place of this worker among the live workers, from 0. */
  #place = 0;
  /** When the last heartbeat was sent that Postgres has answered; undefined: none was. */
  #beatAt: number | undefined;
  readonly #spare = new SpareSlots();
  /** Endpoints whose jobs wait for a spare slot. */
  readonly #short = new Map<string, { clientId: string; max: number }>();
  #asking: NodeJS.Timeout | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Statements run one at a time, so that a heartbeat knows each slot that was taken before it. */
  readonly #turn = pLimit(1);
  readonly #heart: Periodic;
  #stopped = false;

  constructor(private readonly options: SharedSlotsOptions) {
    this.#heart = new Periodic({
      interval: INTERVAL,
      run: () => this.#turn(() => this.#beat()),
      onFault: (error) => this.#report(error),
    });
  }

  /** The number of workers that share the limits. */
  get workers(): number {
    return this.#workers;
  }

  /** Whether this worker is the one that the turn names (outbox/take-turns.ts). */
  hasTurn(turn: number): boolean {
    return turn % this.#workers === this.#place;
  }

  of(endpointId: string, max: number): number {
    if (this.#isCutOff) return 0;
    return this.#workers === 1 ? max : Math.floor(max / this.#workers) + this.#spare.usable(endpointId);
  }

  short({ id, max, client }: EndpointUse): void {
    if (this.#spareOf(max) <= this.#spare.usable(id)) return;
    this.#short.set(id, { clientId: client.id, max });
    this.#askSoon();
  }

  released({ id, max, active }: EndpointUse): void {
    if (this.#spare.isEmpty || active > this.of(id, max)) return;
    const given = this.#spare.takeGiven(id);
    if (given.length > 0) void this.#turn(() => this.#give(given)).catch((error) => this.#report(error));
  }

  /** Takes a spare slot for an attempt that does not wait here. @returns whether this worker has one more */
  async take(clientId: string, endpointId: string, max: number): Promise<boolean> {
    if (this.#spareOf(max) <= this.#spare.usable(endpointId)) return false;
    return (await this.#turn(() => this.#take([{ clientId, endpointId, max }]))) > 0;
  }

  start(): void {
    this.#heart.start();
    this.#heart.request();
  }

  /** Call this after the last attempt has ended: the other workers have the share of this one at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#asking);
    await this.#heart.stop();
    await this.#turn(() => leave(this.options.db, this.options.workerId)).catch((error) => this.#report(error));
  }

  get #isCutOff(): boolean {
    return this.#beatAt === undefined || performance.now() - this.#beatAt > LIFETIME;
  }

  /** The slots of a limit that do not divide equally. */
  #spareOf(max: number): number {
    return max % this.#workers;
  }

  async #beat(): Promise<void> {
    const { db, workerId, useOf, onGrown } = this.options;
    const sentAt = performance.now();
    const { workers, place, slots } = await beat(db, workerId, LIFETIME);
    const before = this.#isCutOff ? Number.POSITIVE_INFINITY : this.#workers;
    this.#beatAt = sentAt;
    this.#workers = workers;
    this.#place = place;
    const given = this.#spare.renew(slots, ({ clientId, endpointId, max }) => {
      const { active, waiting } = useOf(clientId, endpointId);
      return { spare: this.#spareOf(max), share: Math.floor(max / workers), active, waiting };
    });
    if (given.length > 0) await this.#give(given);
    if (workers < before) onGrown();
  }

  #askSoon(): void {
    if (this.#asking || this.#stopped || this.#short.size === 0) return;
    const wait = Math.max(0, this.#askedAt + ASK_AGAIN - performance.now());
    this.#asking = setTimeout(() => {
      this.#ask()
        .catch((error: unknown) => this.#report(error))
        .finally(() => {
          this.#asking = undefined;
          this.#askSoon();
        });
    }, wait);
  }

  /** Asks for one spare slot of each endpoint whose jobs still wait. */
  async #ask(): Promise<void> {
    this.#askedAt = performance.now();
    const wanted: { clientId: string; endpointId: string; max: number }[] = [];
    for (const [endpointId, { clientId, max }] of this.#short) {
      const { active, waiting } = this.options.useOf(clientId, endpointId);
      const isShort = waiting > 0 && active >= this.of(endpointId, max);
      if (!isShort || this.#spareOf(max) <= this.#spare.usable(endpointId)) this.#short.delete(endpointId);
      else if (!this.#spare.givesWay(endpointId) && wanted.length < BATCH) wanted.push({ clientId, endpointId, max });
    }
    if (wanted.length > 0) await this.#turn(() => this.#take(wanted));
  }

  async #take(wanted: readonly { clientId: string; endpointId: string; max: number }[]): Promise<number> {
    const { db, workerId, onGrown } = this.options;
    const rows = wanted.map(({ endpointId, max }) => ({ endpointId, spare: this.#spareOf(max) }));
    const taken = await takeSpareSlots(db, workerId, rows, LIFETIME);
    for (const { endpointId, slot } of taken) {
      const owner = wanted.find((one) => one.endpointId === endpointId);
      if (owner) this.#spare.add(owner, slot);
    }
    if (taken.length > 0) onGrown();
    return taken.length;
  }

  #give(slots: Parameters<typeof giveSpareSlots>[2]): Promise<void> {
    return giveSpareSlots(this.options.db, this.options.workerId, slots);
  }

  #report(error: unknown): void {
    const level = isUnreachable(error) ? 'warn' : 'error';
    this.options.log[level]({ err: error }, 'the slots of endpoints could not be shared; next try in 2 s');
  }
}
