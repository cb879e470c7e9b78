import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Handle, rowOf } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import { isFree } from './lease.js';

/** ms between two heartbeats. */
const INTERVAL = 2_000;
/** A worker whose last heartbeat is older than this, ms, is dead for the others and starts no attempt itself. */
const LIFETIME = 10_000;
/** Endpoints whose rank is kept. */
const KEPT = 10_000;

/**
 * Divides each endpoint's limit of attempts at once among the live workers, without a statement for an attempt. Each
 * worker has `floor(limit / workers)` slots. The `limit mod workers` slots that are left belong to the workers that rank
 * first by a hash of endpoint and worker (rendezvous hashing), so that the limit is kept exactly and the endpoints with a
 * limit of 1 spread over the workers.
 *
 * A heartbeat every 2 s, in the table `workers`, says who lives. After a worker has joined, the others count it within
 * 2 s; until then an endpoint may have its share in addition. The share of a killed worker returns within 12 s. A worker
 * that has not reached Postgres for 10 s starts no attempt, since the others have its share.
 */
export class LiveWorkers {
  #others: readonly string[] = [];
  /** When the last heartbeat was sent that Postgres has answered; undefined: none was. */
  #beatAt: number | undefined;
  readonly #ranks = new LRUCache<string, number>({ max: KEPT });
  readonly #heart: Periodic;

  /**
   * @param workerId a UUID that is new for each process
   * @param onGrown called when shares may have grown
   */
  constructor(
    private readonly db: Handle,
    private readonly workerId: string,
    private readonly onGrown: () => void,
    private readonly log: Log,
  ) {
    this.#heart = new Periodic({
      interval: INTERVAL,
      run: () => this.#beat(),
      onFault: reportTo(log, 'the heartbeat of this worker failed; next try in 2 s'),
    });
  }

  /** The number of live workers, with this one. */
  get count(): number {
    return this.#others.length + 1;
  }

  /** Attempts at once at the endpoint in this process. @param max the endpoint's limit over all workers */
  of(endpointId: string, max: number): number {
    if (this.#isCutOff) return 0;
    if (this.#others.length === 0) return max;
    return Math.floor(max / this.count) + (this.#rank(endpointId) < max % this.count ? 1 : 0);
  }

  /**
   * Whether this worker is the one of those with slots of the endpoint that a notification wakes first.
   * @param wakeUp a random number
   */
  wakesFirstAt(endpointId: string, max: number, wakeUp: number): boolean {
    return this.#rank(endpointId) === wakeUp % Math.min(max, this.count);
  }

  /** Whether this worker is the one that a notification without endpoints wakes first. @param wakeUp a random number */
  wakesFirst(wakeUp: number): boolean {
    return wakeUp % this.count === this.#others.filter((other) => other < this.workerId).length;
  }

  start(): void {
    this.#heart.start();
  }

  /** Call this after the last attempt has ended: the other workers have the share of this one at once. */
  async stop(): Promise<void> {
    await this.#heart.stop();
    await this.db
      .query('delete from workers where id = $1::uuid', [this.workerId])
      .catch((error) => this.log.warn({ err: error }, 'this worker could not sign off'));
  }

  get #isCutOff(): boolean {
    return this.#beatAt === undefined || performance.now() - this.#beatAt > LIFETIME;
  }

  /** The rank of this worker at the endpoint, 0 for the first. */
  #rank(endpointId: string): number {
    const known = this.#ranks.get(endpointId);
    if (known !== undefined) return known;
    const own = hash('sha256', endpointId + this.workerId);
    const rank = this.#others.filter((other) => hash('sha256', endpointId + other) < own).length;
    this.#ranks.set(endpointId, rank);
    return rank;
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    const { others } = await rowOf<{ others: string[] }>(this.db, BEAT, [this.workerId, LIFETIME]);
    const wasCutOff = this.#isCutOff;
    this.#beatAt = sentAt;
    if (!wasCutOff && others.join() === this.#others.join()) return;
    this.#others = others;
    this.#ranks.clear();
    this.onGrown();
  }
}

/** A row whose time lies too far ahead was written by another clock (lease.ts) and does not count. */
const BEAT = `
with alive as (
  insert into workers (id, alive_until) values ($1::uuid, now() + $2::int * interval '1 millisecond')
  on conflict (id) do update set alive_until = excluded.alive_until
)
select coalesce(json_agg(id order by id), '[]') as others
  from workers where id <> $1::uuid and not ${isFree('alive_until')}`;
