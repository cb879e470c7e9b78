import { withinShare } from '../fair-share.js';
import { type ClientLine, ClientLines, type EndpointLine } from './client-lines.js';

export interface Limits {
  /**
   * Jobs under way at once: for one endpoint without a limit of its own, over all workers; in this process for one
   * client, and in all. A client also stays within its fair share.
   */
  perEndpoint: number;
  perClient: number;
  total: number;
}

/** The part of the endpoints' limits that this process has (shared-slots.ts). */
export interface EndpointShare {
  /** The number of workers that share the limits. */
  readonly workers: number;
  /** Attempts at once at the endpoint in this process. @param max the endpoint's limit over all workers */
  of(endpointId: string, max: number): number;
  /** Called when a job waits for a slot of this endpoint. */
  short(endpoint: EndpointUse): void;
  /** Called after a slot of this endpoint was released. */
  released(endpoint: EndpointUse): void;
}

/** An endpoint as its share sees it. */
export type EndpointUse = Pick<EndpointLine<unknown>, 'id' | 'max' | 'active'> & { client: { id: string } };

/** One process has the whole of each limit. */
const UNSHARED: EndpointShare = { workers: 1, of: (_, max) => max, short: () => {}, released: () => {} };

/**
 * The attempts that run at once in this process, and the jobs that wait for a slot. Jobs are served in turn across
 * clients and, within a client, across its endpoints. Each client and each endpoint has a bound on its attempts, so
 * that a client's flood, or its dead receiver, takes no slot from another client. Plain data, no timers.
 */
export class AttemptSlots<Job> {
  readonly #lines = new ClientLines<Job>();
  readonly #ready: ClientLine<Job>[] = [];
  #active = 0;
  #waiting = 0;
  #asked = 0;
  readonly #onRelease: ((clientId?: string) => void)[] = [];

  constructor(
    private readonly limits: Limits,
    private readonly share: EndpointShare = UNSHARED,
  ) {}

  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Jobs that ever asked for a slot. */
  get asked(): number {
    return this.#asked;
  }

  /** The listeners are called, in order, after each `release` of a client's slot, and when any may have more slots. */
  onRelease(listener: (clientId?: string) => void): void {
    this.#onRelease.push(listener);
  }

  waitingOf(clientId: string): number {
    return this.#lines.find(clientId)?.waiting ?? 0;
  }

  /** @param max the endpoint's own limit; null: the limit of the deployment */
  enqueue(clientId: string, endpointId: string, job: Job, now: number, max: number | null = null): void {
    const endpoint = this.#lines.endpoint(clientId, endpointId);
    endpoint.max = max ?? this.limits.perEndpoint;
    endpoint.jobs.push({ job, since: now });
    endpoint.client.waiting++;
    this.#waiting++;
    this.#asked++;
    this.#enqueue(endpoint);
  }

  /** The endpoint's jobs in this process: under way, and waiting. */
  useOf(clientId: string, endpointId: string): { active: number; waiting: number } {
    const endpoint = this.#lines.find(clientId)?.endpoints.get(endpointId);
    return { active: endpoint?.active ?? 0, waiting: endpoint?.jobs.length ?? 0 };
  }

  /** The next job that has a slot. It holds the slot until `release`. Undefined when no waiting job has a slot. */
  next(): Job | undefined {
    for (let turns = this.#ready.length; turns > 0; turns--) {
      const client = this.#ready.shift();
      if (!client) break;
      if (!this.#hasSlot(client)) {
        this.#ready.push(client);
        continue;
      }
      client.queued = false;
      const endpoint = this.#nextEndpoint(client);
      const waiting = endpoint?.jobs.shift();
      if (!endpoint || !waiting) continue;
      endpoint.active++;
      client.active++;
      client.waiting--;
      this.#active++;
      this.#waiting--;
      this.#enqueue(endpoint);
      this.#enqueueClient(client);
      return waiting.job;
    }
    return undefined;
  }

  /** Whether a slot is free for this client, apart from the bounds of its endpoints. */
  hasSlotFor(clientId: string): boolean {
    return this.#hasSlot(this.#lines.find(clientId) ?? { active: 0 });
  }

  /**
   * Takes a slot for a job that does not wait here.
   * @param max the endpoint's own limit; null: the limit of the deployment
   * @returns false when no slot is free for it
   */
  tryAcquire(clientId: string, endpointId: string, max: number | null = null): boolean {
    const endpoint = this.#lines.endpoint(clientId, endpointId);
    endpoint.max = max ?? this.limits.perEndpoint;
    const acquired = this.#isFree(endpoint) && this.#hasSlot(endpoint.client);
    if (acquired) {
      endpoint.active++;
      endpoint.client.active++;
      this.#active++;
    } else {
      this.#lines.removeIfIdle(endpoint);
    }
    return acquired;
  }

  /** Frees the slot of a job. */
  release(clientId: string, endpointId: string): void {
    const endpoint = this.#lines.endpoint(clientId, endpointId);
    endpoint.active--;
    endpoint.client.active--;
    endpoint.progress++;
    this.#active--;
    this.#enqueue(endpoint);
    this.#enqueueClient(endpoint.client);
    this.#lines.removeIfIdle(endpoint);
    this.share.released(endpoint);
    for (const listener of this.#onRelease) listener(clientId);
  }

  /** The shares of this process have grown: endpoints whose jobs wait may have a slot now. */
  refresh(): void {
    for (const client of this.#lines) for (const endpoint of client.endpoints.values()) this.#enqueue(endpoint);
    for (const listener of this.#onRelease) listener();
  }

  /**
   * Removes the jobs that have waited since before `others`, and the jobs that have waited since before `stuck` for a
   * slow endpoint: an endpoint without a free slot that has released fewer than its share of `slow` slots since the
   * last call. `slow` counts the slots of all workers.
   */
  expire(before: { stuck: number; others: number }, slow: number): { job: Job; stuck: boolean }[] {
    const expired: { job: Job; stuck: boolean }[] = [];
    for (const client of this.#lines) {
      for (const endpoint of client.endpoints.values()) {
        const saturated = !this.#isFree(endpoint) || (client.active > 0 && !this.#hasSlot(client));
        const stuck = saturated && endpoint.progress < slow / this.share.workers;
        const limit = stuck ? Math.max(before.stuck, before.others) : before.others;
        while (endpoint.jobs[0] && endpoint.jobs[0].since < limit) {
          const waiting = endpoint.jobs.shift();
          if (waiting) expired.push({ job: waiting.job, stuck });
          client.waiting--;
        }
        endpoint.progress = 0;
        this.#lines.removeIfIdle(endpoint);
      }
    }
    this.#waiting -= expired.length;
    return expired;
  }

  /** Some clients with dead receivers never take every slot: a client without an attempt under way finds one. */
  #hasSlot({ active }: Pick<ClientLine<Job>, 'active'>): boolean {
    return active < this.limits.perClient && withinShare(active, 1, this.limits.total - this.#active);
  }

  #isFree({ id, max, active }: EndpointLine<Job>): boolean {
    return active < this.share.of(id, max);
  }

  #nextEndpoint(client: ClientLine<Job>): EndpointLine<Job> | undefined {
    for (let endpoint = client.ready.shift(); endpoint; endpoint = client.ready.shift()) {
      endpoint.queued = false;
      if (endpoint.jobs.length === 0) this.#lines.removeIfIdle(endpoint);
      else if (this.#isFree(endpoint)) return endpoint;
      else this.share.short(endpoint);
    }
    return undefined;
  }

  #enqueue(endpoint: EndpointLine<Job>): void {
    if (endpoint.queued || endpoint.jobs.length === 0) return;
    if (!this.#isFree(endpoint)) {
      this.share.short(endpoint);
      return;
    }
    endpoint.queued = true;
    endpoint.client.ready.push(endpoint);
    this.#enqueueClient(endpoint.client);
  }

  #enqueueClient(client: ClientLine<Job>): void {
    if (client.queued || client.ready.length === 0 || client.active >= this.limits.perClient) return;
    client.queued = true;
    this.#ready.push(client);
  }
}
