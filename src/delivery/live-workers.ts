import type { Handle } from '../platform/database/database.js';
import { Heartbeat } from '../platform/heartbeat.js';
import type { Log } from '../platform/telemetry/log.js';

/**
 * Divides each endpoint's limit of attempts at once among the live workers, without a statement for an attempt. Each
 * worker has `floor(limit / workers)` slots. The `limit mod workers` slots that are left belong to the workers that
 * rank first by a hash of endpoint and worker (rendezvous hashing), so that the endpoints with a limit of 1 spread over
 * the workers. The limit is kept exactly while all workers count the same ones.
 *
 * A heartbeat in the table `workers` says who lives (`Heartbeat`). Until the others count a worker that has joined, an
 * endpoint may have its share in addition. A worker that has not reached Postgres for 10 s starts no attempt, since the
 * others have its share; one that it began before may run beside theirs for up to 16 s.
 */
export class LiveWorkers {
  readonly #heartbeat: Heartbeat;

  /**
   * @param workerId a UUID that is new for each process
   * @param onGrown called when the live workers have changed
   */
  constructor(
    db: Handle,
    private readonly workerId: string,
    onGrown: () => void,
    log: Log,
  ) {
    this.#heartbeat = new Heartbeat({ db, table: 'workers', id: workerId, onChange: onGrown, log });
  }

  /** The number of live workers, with this one. */
  get count(): number {
    return this.#heartbeat.count;
  }

  /** Attempts at once at the endpoint in this process. @param max the endpoint's limit over all workers */
  of(endpointId: string, max: number): number {
    if (this.#heartbeat.isCutOff) return 0;
    if (this.count === 1) return max;
    const left = max % this.count;
    return Math.floor(max / this.count) + (left > 0 && this.#rank(endpointId) < left ? 1 : 0);
  }

  /**
   * The place of this worker among those with slots of the endpoint: a notification wakes the first, 0, at once.
   * @param wakeUp a random number
   */
  placeAt(endpointId: string, max: number, wakeUp: number): number {
    const holders = Math.min(max, this.count);
    return (this.#rank(endpointId) + wakeUp) % holders;
  }

  /** Postgres's clock, ms since 1970, once the first heartbeat was answered. Until then no attempt starts. */
  get now(): number {
    return this.#heartbeat.now;
  }

  /** Whether this is the first of the live workers: it alone does what one of them is enough for. */
  get isFirst(): boolean {
    return this.#heartbeat.others.every((other) => this.workerId < other);
  }

  start(): void {
    this.#heartbeat.start();
  }

  /** Call this after the last attempt has ended: the other workers have the share of this one at once. */
  stop(): Promise<void> {
    return this.#heartbeat.stop();
  }

  /** The rank of this worker at the endpoint, 0 for the first. */
  #rank(endpointId: string): number {
    const own = weigh(endpointId, this.workerId);
    return this.#heartbeat.others.filter((other) => weigh(endpointId, other) < own).length;
  }
}

/** A hash of two UUIDs, of whose random ends it mixes 32 bits. */
function weigh(endpointId: string, workerId: string): number {
  const seed = Number.parseInt(endpointId.slice(-8), 16) ^ Number.parseInt(workerId.slice(-8), 16);
  const mixed = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0;
}
