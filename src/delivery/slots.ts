import { withinShare } from '../platform/database/transaction-turns.js';
import type { Line } from './handover.js';
import type { LiveWorkers } from './live-workers.js';

export interface Limits {
  /**
   * Attempts in flight: at one endpoint without a limit of its own, over all workers; in this process of one client,
   * and in all. A client also stays within its fair share.
   */
  perEndpoint: number;
  perClient: number;
  total: number;
  /** Leased attempts that wait in this process. */
  waiting: number;
}

interface Endpoint<Job> {
  id: string;
  client: Client<Job>;
  /** Its limit of attempts at once, over all workers. */
  max: number;
  /** Its limit of starts in a second, over all workers; null: none. */
  rate: number | null;
  /** No attempt starts before this time because of the rate; 0: the rate limits nothing. */
  startsAt: number;
  active: number;
  /** The jobs that wait, by line. */
  lines: Record<Line, { job: Job; since: number }[]>;
  /** The line that is served next, if both have a job. */
  turn: Line;
  /** Attempts answered in the present second and in the last one: the speed of the endpoint. */
  released: number;
  speed: number;
  /** Whether the endpoint stands in its client's queue of ready endpoints. */
  queued: boolean;
}

interface Client<Job> {
  id: string;
  active: number;
  waiting: number;
  endpoints: Map<string, Endpoint<Job>>;
  /** Endpoints with a waiting job and a slot for it, each listed once, served in turn. */
  ready: Endpoint<Job>[];
  queued: boolean;
}

/**
 * The attempts in flight in this process, and the leased ones that wait for a slot. Clients are served in turn, within
 * a client its endpoints, and within an endpoint its two lines. Client and endpoint have a limit of attempts in flight,
 * so that a client's flood, or its dead receiver, takes no slot from another client. Plain data, no timers.
 *
 * An endpoint's rate is divided as its slots are: a worker with a third of the slots starts a third of the attempts. An
 * attempt that has a slot, but comes too early for the rate, rests: it holds no slot, and `restsFor` says for how long.
 */
export class Slots<Job> {
  readonly #clients = new Map<string, Client<Job>>();
  readonly #ready: Client<Job>[] = [];
  /** Endpoints whose jobs have a slot and wait for their rate. */
  readonly #resting = new Set<Endpoint<Job>>();
  #active = 0;
  #waiting = 0;

  constructor(
    private readonly limits: Limits,
    private readonly share: Pick<LiveWorkers, 'of'>,
    /** ms, for rates. */
    private readonly clock = () => performance.now(),
  ) {}

  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How many more jobs may wait here. */
  get room(): number {
    return Math.max(0, this.limits.waiting - this.#waiting);
  }

  /** Whether one more job of this client may wait: a flood of one client leaves room for the others. */
  admits(clientId: string): boolean {
    return withinShare(this.#clients.get(clientId)?.waiting ?? 0, 1, this.room);
  }

  /**
   * @param max the endpoint's own limit; null: the limit of the deployment
   * @param rate its limit of starts in a second; null: none
   */
  enqueue(
    clientId: string,
    endpointId: string,
    line: Line,
    job: Job,
    now: number,
    max: number | null = null,
    rate: number | null = null,
  ): void {
    const endpoint = this.#endpoint(clientId, endpointId, max);
    endpoint.rate = rate;
    if (rate === null) endpoint.startsAt = 0;
    endpoint.lines[line].push({ job, since: now });
    endpoint.client.waiting++;
    this.#waiting++;
    this.#enqueue(endpoint);
  }

  /**
   * How many more attempts of each line of an endpoint this process may lease: what it expects to make within a second,
   * at least twice its slots. Undefined: the endpoint has nothing here.
   */
  allowance(clientId: string, endpointId: string): number | undefined {
    const endpoint = this.#clients.get(clientId)?.endpoints.get(endpointId);
    return endpoint && this.#allowanceOf(endpoint);
  }

  /** Endpoints of which no more may wait here. */
  full(): string[] {
    const full: string[] = [];
    for (const client of this.#clients.values()) {
      if (client.waiting === 0) continue;
      const admits = this.admits(client.id);
      for (const endpoint of client.endpoints.values())
        if (!admits || (waitingAt(endpoint) > 0 && this.#allowanceOf(endpoint) === 0)) full.push(endpoint.id);
    }
    return full;
  }

  /** Whether at most half of what an endpoint may have here waits, so that one statement leases many attempts. */
  isHalfEmpty(clientId: string, endpointId: string): boolean {
    const endpoint = this.#clients.get(clientId)?.endpoints.get(endpointId);
    if (!endpoint) return this.admits(clientId);
    return this.#allowanceOf(endpoint) > 0 && waitingAt(endpoint) * 2 <= this.#expectedAt(endpoint);
  }

  /** The next job that has a slot. It holds the slot until `release`. Undefined when no waiting job has a slot. */
  next(): Job | undefined {
    if (this.#resting.size > 0) this.#endRests();
    for (let turns = this.#ready.length; turns > 0; turns--) {
      const client = this.#ready.shift();
      if (!client) break;
      if (!this.#hasSlot(client)) {
        this.#ready.push(client);
        continue;
      }
      client.queued = false;
      const endpoint = this.#nextEndpoint(client);
      const waiting = endpoint && takeFrom(endpoint);
      if (!endpoint || !waiting) continue;
      this.#spend(endpoint);
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

  /** Frees the slot of a job. @param isMade whether its attempt was made, and counts for the speed of the endpoint */
  release(clientId: string, endpointId: string, isMade = true): void {
    const endpoint = this.#endpoint(clientId, endpointId);
    endpoint.active--;
    endpoint.client.active--;
    if (isMade) endpoint.released++;
    this.#active--;
    this.#enqueue(endpoint);
    this.#removeIfIdle(endpoint);
  }

  /** ms until an attempt may start that waits for its endpoint's rate alone; undefined: none does. */
  restsFor(): number | undefined {
    if (this.#resting.size === 0) return undefined;
    return Math.max(0, Math.min(...Array.from(this.#resting, ({ startsAt }) => startsAt)) - this.clock());
  }

  /**
   * Sets the limit of an endpoint anew.
   * @returns whether the attempts in flight here are within it
   */
  isWithin(clientId: string, endpointId: string, max: number | null): boolean {
    const endpoint = this.#endpoint(clientId, endpointId, max);
    return endpoint.active <= this.#shareOf(endpoint);
  }

  /** The shares of this process have grown: endpoints whose jobs wait may have a slot now. */
  refresh(): void {
    for (const { endpoints } of this.#clients.values())
      for (const endpoint of endpoints.values()) this.#enqueue(endpoint);
  }

  /** Call this each second: the speed of the endpoints is that of the second that ends. */
  tick(): void {
    for (const { endpoints } of this.#clients.values()) {
      for (const endpoint of endpoints.values()) {
        endpoint.speed = endpoint.released;
        endpoint.released = 0;
        this.#removeIfIdle(endpoint);
      }
    }
  }

  /** Removes the jobs that have waited since before `since`. */
  expire(since: number): Job[] {
    const expired: Job[] = [];
    for (const client of this.#clients.values()) {
      for (const endpoint of client.endpoints.values()) {
        for (const line of Object.values(endpoint.lines)) {
          const late = line.findIndex((waiting) => waiting.since >= since);
          const jobs = line.splice(0, late === -1 ? line.length : late);
          client.waiting -= jobs.length;
          expired.push(...jobs.map(({ job }) => job));
        }
        this.#removeIfIdle(endpoint);
      }
    }
    this.#waiting -= expired.length;
    return expired;
  }

  #endpoint(clientId: string, endpointId: string, max?: number | null): Endpoint<Job> {
    let client = this.#clients.get(clientId);
    if (!client) {
      client = { id: clientId, active: 0, waiting: 0, endpoints: new Map(), ready: [], queued: false };
      this.#clients.set(clientId, client);
    }
    let endpoint = client.endpoints.get(endpointId);
    if (!endpoint) {
      const limits = { max: this.limits.perEndpoint, rate: null, startsAt: 0 };
      const counts = { ...limits, active: 0, released: 0, speed: 0 };
      endpoint = { id: endpointId, client, ...counts, lines: { fresh: [], late: [] }, turn: 'fresh', queued: false };
      client.endpoints.set(endpointId, endpoint);
    }
    if (max !== undefined) endpoint.max = max ?? this.limits.perEndpoint;
    return endpoint;
  }

  /** The speed of an endpoint outlasts a moment without a job, and so do the leases of that size. */
  #removeIfIdle(endpoint: Endpoint<Job>): void {
    if (endpoint.active + waitingAt(endpoint) > 0 || endpoint.queued || speedOf(endpoint) > 0) return;
    // Its rate outlasts it too.
    if (endpoint.startsAt > 0 && endpoint.startsAt > this.clock()) return;
    const { client } = endpoint;
    this.#resting.delete(endpoint);
    client.endpoints.delete(endpoint.id);
    if (client.endpoints.size === 0 && !client.queued) this.#clients.delete(client.id);
  }

  #allowanceOf(endpoint: Endpoint<Job>): number {
    if (!this.admits(endpoint.client.id)) return 0;
    return Math.max(0, this.#expectedAt(endpoint) - waitingAt(endpoint));
  }

  #expectedAt(endpoint: Endpoint<Job>): number {
    const share = this.#shareOf(endpoint);
    const expected = share === 0 ? 0 : Math.max(2 * share, speedOf(endpoint));
    return endpoint.rate === null ? expected : Math.min(expected, Math.ceil(this.#rateOf(endpoint)));
  }

  #shareOf(endpoint: Endpoint<Job>): number {
    return this.share.of(endpoint.id, endpoint.max);
  }

  /** Starts in a second in this process. */
  #rateOf(endpoint: Endpoint<Job>): number {
    return ((endpoint.rate ?? 0) * this.#shareOf(endpoint)) / endpoint.max;
  }

  /** A start takes its part of the rate. */
  #spend(endpoint: Endpoint<Job>): void {
    if (endpoint.rate === null) return;
    endpoint.startsAt = Math.max(endpoint.startsAt, this.clock() - CATCH_UP) + 1_000 / this.#rateOf(endpoint);
  }

  #endRests(): void {
    const now = this.clock();
    for (const endpoint of this.#resting) {
      if (endpoint.startsAt > now) continue;
      this.#resting.delete(endpoint);
      this.#enqueue(endpoint);
    }
  }

  /** Some clients with dead receivers never take every slot: a client without an attempt in flight finds one. */
  #hasSlot({ active }: Pick<Client<Job>, 'active'>): boolean {
    return active < this.limits.perClient && withinShare(active, 1, this.limits.total - this.#active);
  }

  #isFree(endpoint: Endpoint<Job>): boolean {
    return endpoint.active < this.#shareOf(endpoint);
  }

  #nextEndpoint(client: Client<Job>): Endpoint<Job> | undefined {
    for (let endpoint = client.ready.shift(); endpoint; endpoint = client.ready.shift()) {
      endpoint.queued = false;
      if (waitingAt(endpoint) === 0) this.#removeIfIdle(endpoint);
      else if (this.#isFree(endpoint)) return endpoint;
    }
    return undefined;
  }

  #enqueue(endpoint: Endpoint<Job>): void {
    if (endpoint.queued || waitingAt(endpoint) === 0 || !this.#isFree(endpoint)) return;
    if (endpoint.startsAt > 0 && endpoint.startsAt > this.clock()) {
      this.#resting.add(endpoint);
      return;
    }
    endpoint.queued = true;
    endpoint.client.ready.push(endpoint);
    this.#enqueueClient(endpoint.client);
  }

  #enqueueClient(client: Client<Job>): void {
    if (client.queued || client.ready.length === 0) return;
    client.queued = true;
    this.#ready.push(client);
  }
}

/** How far starts that came late may catch up with the rate, ms: a timer is late while the process is busy. */
const CATCH_UP = 100;

/** Attempts made in a second. */
const speedOf = ({ speed, released }: Endpoint<unknown>) => Math.max(speed, released);

function waitingAt({ lines }: Endpoint<unknown>): number {
  return lines.fresh.length + lines.late.length;
}

function takeFrom<Job>(endpoint: Endpoint<Job>): { job: Job } | undefined {
  const line = endpoint.lines[endpoint.turn].length > 0 ? endpoint.turn : other(endpoint.turn);
  endpoint.turn = other(line);
  return endpoint.lines[line].shift();
}

const other = (line: Line): Line => (line === 'fresh' ? 'late' : 'fresh');
