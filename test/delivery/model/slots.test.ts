import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Line } from '../../../src/delivery/handover.js';
import { type Limits, Slots } from '../../../src/delivery/slots.js';

// Slots and a reference that only counts: the same jobs, and a judgement of each start by the rules alone.

// A client reaches its own limit before its share of the slots: both rules decide often.
const LIMITS: Limits = { perEndpoint: 2, perClient: 3, total: 9, waiting: 16 };
const OTHER: Record<Line, Line> = { fresh: 'late', late: 'fresh' };

interface Job {
  id: number;
  client: string;
  endpoint: string;
  line: Line;
  since: number;
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['enqueue', 'enqueue', 'enqueue', 'enqueue', 'next', 'next', 'next', 'release', 'release'] as const),
    ...(['fill', 'expire', 'share', 'ask', 'tick', 'wait'] as const),
  ),
  client: fc.nat(3),
  endpoint: fc.nat(2),
  line: fc.constantFrom<Line>('fresh', 'late'),
  number: fc.nat(9),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** `expect` costs more than a step. */
function same<Value>(actual: Value, expected: Value): void {
  if (actual !== expected) expect(actual).toBe(expected);
}

class Reference {
  readonly slots: Slots<Job>;
  /** In the order in which they came. */
  waiting: Job[] = [];
  active: Pick<Job, 'client' | 'endpoint'>[] = [];
  readonly shares = new Map<string, number>();
  readonly max = new Map<string, number>();
  /** Starts a second; an endpoint without an entry has no limit of them. */
  readonly rates = new Map<string, number>();
  readonly startsAt = new Map<string, number>();
  now = 1_000;
  readonly started: Job[] = [];
  /** For each client, endpoint and line with a job that may start: since which start it waits for its turn. */
  readonly ready = new Map<string, number>();
  ids = 0;

  constructor() {
    const of = (endpoint: string, max: number) => Math.min(max, this.shares.get(endpoint) ?? max);
    this.slots = new Slots<Job>(LIMITS, { of }, () => this.now);
  }

  run({ kind, client: c, endpoint: e, line, number }: Step, now: number): void {
    const client = `c${c}`;
    const endpoint = `${client}e${e}`;
    switch (kind) {
      case 'enqueue': {
        if (!this.slots.admits(client)) return;
        const job = { id: this.ids++, client, endpoint, line, since: now };
        const max = number < 6 ? null : number - 5;
        // One endpoint of each client has a rate.
        const rate = e === 0 ? 2 : null;
        this.slots.enqueue(client, endpoint, line, job, now, max, rate);
        this.max.set(endpoint, max ?? LIMITS.perEndpoint);
        if (rate !== null) this.rates.set(endpoint, rate);
        this.waiting.push(job);
        return;
      }
      case 'next':
        this.next();
        return;
      case 'fill':
        while (this.next());
        return;
      case 'release': {
        const [done] = this.active.splice(number % Math.max(1, this.active.length), 1);
        if (done) this.slots.release(done.client, done.endpoint);
        return;
      }
      case 'expire': {
        const expired = this.slots.expire(now - number * 3);
        const expected = this.waiting.filter(({ since }) => since < now - number * 3);
        const byId = (one: Job, other: Job) => one.id - other.id;
        expect(expired.sort(byId)).toEqual(expected);
        this.waiting = this.waiting.filter((job) => !expected.includes(job));
        return;
      }
      case 'share':
        // Workers join and end. A share that grows is announced.
        this.shares.set(endpoint, number % 4);
        this.slots.refresh();
        return;
      case 'ask':
        if (this.waiting.some((job) => job.endpoint === endpoint))
          same(this.slots.full().includes(endpoint), this.slots.allowance(client, endpoint) === 0);
        return;
      case 'tick':
        this.tick();
        return;
      case 'wait':
        this.now += number * 100;
        return;
    }
  }

  tick(): void {
    this.slots.tick();
  }

  /** Starts the next job. @returns false if none has a slot */
  next(): boolean {
    const free = this.waiting.filter((job) => this.isFree(job, this.maxOf(job.endpoint)));
    const job = this.slots.next();
    if (!job) {
      // No client waits while a slot is free for it, and what waits for its rate is awaited.
      same(free.length, 0);
      const resting = this.waiting.some((one) => this.isFree(one, this.maxOf(one.endpoint), Number.POSITIVE_INFINITY));
      same(this.slots.restsFor() !== undefined || !resting, true);
      return false;
    }
    same(free.includes(job), true);
    const inLine = free.find(({ endpoint, line }) => endpoint === job.endpoint && line === job.line);
    same(inLine, job);
    this.#judgeTurn(job, free);
    this.waiting = this.waiting.filter((one) => one !== job);
    this.active.push(job);
    this.started.push(job);
    this.#spend(job.endpoint);
    return true;
  }

  /**
   * Nobody who could start before the last start of this client, of this endpoint, or from this line, and could ever
   * since, still waits for a turn.
   */
  #judgeTurn(job: Job, free: readonly Job[]): void {
    const keys = [
      ['client', (one: Job) => one.client, () => true],
      ['endpoint', (one: Job) => one.endpoint, (one: Job) => one.client === job.client],
    ] as const;
    for (const [kind, keyOf, isRival] of keys) {
      const last = this.started.findLastIndex((one) => keyOf(one) === keyOf(job));
      for (const rival of free.filter((one) => isRival(one) && keyOf(one) !== keyOf(job))) {
        const since = this.ready.get(`${kind} ${keyOf(rival)}`) ?? this.started.length;
        same(last === -1 || since > last, true);
      }
    }
    const before = this.started.findLast(({ endpoint }) => endpoint === job.endpoint);
    const rival = free.find(({ endpoint, line }) => endpoint === job.endpoint && line === OTHER[job.line]);
    const since = this.ready.get(`line ${job.endpoint} ${OTHER[job.line]}`) ?? this.started.length;
    if (before && rival && since <= this.started.lastIndexOf(before)) expect(before.line).not.toBe(job.line);
  }

  /** Call this after each step: who may start now, and since which start. */
  observe(): void {
    const free = this.waiting.filter((job) => this.isFree(job, this.maxOf(job.endpoint)));
    const keys = free.flatMap((job) => [
      `client ${job.client}`,
      `endpoint ${job.endpoint}`,
      `line ${job.endpoint} ${job.line}`,
    ]);
    for (const key of this.ready.keys()) if (!keys.includes(key)) this.ready.delete(key);
    for (const key of keys) this.ready.set(key, this.ready.get(key) ?? this.started.length);
    // A turn was taken: the wait for the next one begins.
    const last = this.started.at(-1);
    if (last && this.#observed !== this.started.length) {
      for (const key of [`client ${last.client}`, `endpoint ${last.endpoint}`, `line ${last.endpoint} ${last.line}`])
        if (this.ready.has(key)) this.ready.set(key, this.started.length);
    }
    this.#observed = this.started.length;
  }
  #observed = 0;

  #spend(endpoint: string): void {
    const rate = this.rates.get(endpoint);
    if (rate === undefined) return;
    const max = this.maxOf(endpoint);
    const own = (rate * Math.min(max, this.shares.get(endpoint) ?? max)) / max;
    this.startsAt.set(endpoint, Math.max(this.startsAt.get(endpoint) ?? 0, this.now - 100) + 1_000 / own);
  }

  /** A client's flood leaves room for the others. */
  judgeRoom(): void {
    for (const client of ['c0', 'c1', 'c2', 'c3']) {
      const own = this.waiting.filter((job) => job.client === client).length;
      same(this.slots.admits(client), own < LIMITS.waiting - this.waiting.length);
    }
  }

  isFree({ client, endpoint }: Pick<Job, 'client' | 'endpoint'>, max: number, now = this.now): boolean {
    if ((this.startsAt.get(endpoint) ?? 0) > now) return false;
    const ofEndpoint = this.active.filter((job) => job.endpoint === endpoint).length;
    return ofEndpoint < Math.min(max, this.shares.get(endpoint) ?? max) && this.hasSlot(client);
  }

  /** A client has no more than is left, so that one without an attempt in flight finds a slot. */
  hasSlot(client: string): boolean {
    const ofClient = this.active.filter((job) => job.client === client).length;
    return ofClient < LIMITS.perClient && ofClient < LIMITS.total - this.active.length;
  }

  maxOf(endpoint: string): number {
    return this.max.get(endpoint) ?? LIMITS.perEndpoint;
  }
}

test('no limit is exceeded, nobody waits beside a free slot, and clients, endpoints and lines take turns', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
      const reference = new Reference();
      steps.forEach((one, now) => {
        // One start at a time, so that each is judged by the state before it.
        if (one.kind === 'fill') while (reference.next()) reference.observe();
        else reference.run(one, now);
        reference.observe();
        reference.judgeRoom();
        same(reference.slots.active, reference.active.length);
        same(reference.slots.waiting, reference.waiting.length);
      });
      // Every job starts in the end.
      reference.shares.clear();
      reference.slots.refresh();
      for (let guard = 0; guard < 1_000 && reference.waiting.length > 0; guard++) {
        while (reference.next()) reference.observe();
        for (const { client, endpoint } of reference.active.splice(0)) reference.slots.release(client, endpoint);
        reference.observe();
        reference.now += 1_000;
        reference.tick();
        reference.observe();
      }
      expect(reference.waiting).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
