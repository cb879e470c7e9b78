import type { Line } from '../../../src/delivery/handover.js';
import type { Trigger } from '../../../src/platform/vocabulary.js';

// The table of transitions of docs/architecture.md, written a second time, without SQL. The test compares it with the
// rows. Times are ms since 1970, on the test's clock.

const LEASE = 30_000;
/** A lease that ends later than this was given by another clock. */
const OTHER_CLOCK = 60_000;
const HOUR = 3_600_000;
const RETRIES_AN_HOUR = 10;

type Outbox = 'again' | 'start' | 'delivered';
/** Null: nothing for a workflow to learn. */
const RANK: readonly (Outbox | null)[] = ['again', 'start', 'delivered', null];

export type Answer = 'success' | 'failure' | 'gone' | 'hang';

interface RecoveryBatch {
  phase: 'pending' | 'ended';
  ladder: readonly number[];
  limit: number;
}

export interface ModelDelivery {
  id: string;
  eventId: string;
  endpointId: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  count: number;
  ladder: readonly number[];
  rung: number;
  recovered: boolean;
  asleep: boolean;
  nextAt: number | null;
  queued: { line: Line; trigger: Trigger; due: number; holder: string | null; until: number | null } | null;
  /** Manual retries that count. */
  retries: number[];
  /** A manual retry was accepted, and its attempt is not recorded yet. */
  owesRetry: boolean;
  /** It sleeps or has failed, and no workflow has read that. */
  isNews: boolean;
}

export interface ModelEvent {
  id: string;
  outbox: Outbox | null;
  leaseUntil: number | null;
  /** The workflow that runs: the deliveries that are pending as far as it knows. */
  follows: Set<string> | null;
  /** A workflow of this event has run. */
  isKnown: boolean;
  /** Its workflow was terminated, or Postgres was set back behind it: the watchdog asks for it. */
  isLost: boolean;
}

export interface ModelEndpoint {
  id: string;
  active: boolean;
  deleted: boolean;
  /** Its pending deliveries are being cancelled in batches. */
  cancelling: boolean;
  reason: 'operator' | 'gone' | null;
}

/** An attempt in the memory of a worker. */
export interface ModelJob {
  token: string;
  deliveryId: string;
  number: number;
  trigger: Trigger;
  line: Line;
  /** The end of its lease. */
  until: number;
}

type Keys = { id: string; endpointId: string };

export class Model {
  deliveries = new Map<string, ModelDelivery>();
  events = new Map<string, ModelEvent>();
  endpoints = new Map<string, ModelEndpoint>();

  constructor(public now: number) {}

  isFree(until: number | null): boolean {
    return until === null || until <= this.now || until > this.now + OTHER_CLOCK;
  }

  /** – → P·Q */
  event(id: string, deliveries: readonly Keys[], made: { at: number; ladder: readonly number[] }): void {
    const outbox = deliveries.length > 0 ? null : 'delivered';
    this.events.set(id, { id, outbox, leaseUntil: null, follows: null, isKnown: false, isLost: false });
    for (const keys of deliveries) {
      this.#add(keys, id, { ladder: made.ladder, nextAt: made.at, recovered: false });
      this.#queue(this.get(keys.id), 'fresh', 'schedule', this.now);
    }
  }

  /** – → P·Q by include_missing */
  missing(keys: Keys, eventId: string, ladder: readonly number[]): void {
    this.#add(keys, eventId, { ladder, nextAt: this.now, recovered: true });
    this.#queue(this.get(keys.id), 'late', 'recover', this.now);
    this.#raise(eventId, 'again');
  }

  lease(id: string, token: string): void {
    const { queued } = this.get(id);
    if (queued) Object.assign(queued, { holder: token, until: this.now + LEASE });
  }

  giveBack(id: string, token: string, until: number): void {
    const { queued } = this.get(id);
    if (queued?.holder === token && queued.until === until) Object.assign(queued, { holder: null, until: null });
  }

  /** @returns the endpoints of what is free now */
  freeExpired(): string[] {
    const freed = new Set<string>();
    for (const { queued, endpointId } of this.deliveries.values()) {
      if (!queued || queued.until === null || !this.isFree(queued.until)) continue;
      Object.assign(queued, { holder: null, until: null });
      freed.add(endpointId);
    }
    return [...freed].sort();
  }

  /** Whether the attempt of a queued row may be made. */
  isDue(id: string): boolean {
    const d = this.get(id);
    return this.#isActive(d) && (d.status === 'pending' || d.queued?.trigger === 'manual');
  }

  /** @returns for each attempt whether the next one is due at once; undefined: it is not recorded */
  record(batch: readonly { job: ModelJob; answer: Answer }[], retriesOnly: boolean): (boolean | undefined)[] {
    const told = new Map<string, Outbox | null>();
    const results = batch.map(({ job, answer }) => {
      const d = this.deliveries.get(job.deliveryId);
      if (!d) return undefined;
      const late = job.number !== d.count + 1;
      if (late && answer !== 'success') return undefined;
      const makesRetry = this.#makesRetry(d, job, late);
      this.#step(d, job, answer, late);
      const news = this.#newsOf(d, job, job.trigger === 'manual' || late);
      const before = told.get(d.eventId) ?? null;
      told.set(d.eventId, RANK.indexOf(news) < RANK.indexOf(before) ? news : before);
      return this.#requeue(d, job, makesRetry);
    });
    for (const [eventId, outbox] of told)
      if (outbox && !(retriesOnly && outbox === 'delivered')) this.#raise(eventId, outbox);
    return results;
  }

  /** @returns whether the retry counts; undefined: over the limit */
  retry(id: string): boolean | undefined {
    const d = this.get(id);
    const isMade = d.queued !== null && !this.isFree(d.queued.until);
    if (d.queued?.trigger === 'manual' || isMade) return false;
    const recent = d.retries.filter((at) => Math.abs(this.now - at) < HOUR);
    if (recent.length >= RETRIES_AN_HOUR) return undefined;
    d.retries = [...recent, this.now];
    d.asleep = false;
    d.isNews = false;
    d.owesRetry = true;
    this.#queue(d, 'fresh', 'manual', this.now);
    return true;
  }

  /** F, C, or P·A that is not due → P·Q with a new ladder: the oldest of the endpoint. @returns their ids */
  recover(endpointId: string, { phase, ladder, limit }: RecoveryBatch): string[] {
    const sleeps = (d: ModelDelivery) => d.status === 'pending' && d.asleep && !d.queued && (d.nextAt ?? 0) > this.now;
    const hasEnded = (d: ModelDelivery) => d.status === 'failed' || d.status === 'cancelled';
    const ended = [...this.deliveries.values()]
      .filter((d) => d.endpointId === endpointId && (phase === 'pending' ? sleeps(d) : hasEnded(d)))
      .filter((d) => this.#isActive(d))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .slice(0, limit);
    for (const d of ended) {
      Object.assign(d, { status: 'pending', rung: 0, ladder, recovered: true, nextAt: this.now });
      Object.assign(d, { asleep: false, isNews: false });
      if (!d.queued) this.#queue(d, 'late', 'recover', this.now);
      this.#raise(d.eventId, 'again');
    }
    return ended.map(({ id }) => id);
  }

  /** Disabling, deletion, or a 410; its deliveries are cancelled at once or, of a large backlog, later. */
  deactivate(endpointId: string, how: { reason?: 'operator' | 'gone'; deleted?: boolean; large?: boolean }): void {
    const endpoint = this.endpoints.get(endpointId);
    if (!endpoint) return;
    endpoint.active = false;
    endpoint.deleted ||= how.deleted ?? false;
    endpoint.reason = how.reason ?? endpoint.reason;
    endpoint.cancelling = how.large ?? false;
    if (!endpoint.cancelling) this.cancelPending(endpointId);
  }

  cancelPending(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint) endpoint.cancelling = false;
    for (const d of this.deliveries.values()) {
      if (d.endpointId !== endpointId) continue;
      if (d.status === 'pending') this.#cancel(d);
      else if (d.queued?.until === null) this.#unqueue(d);
    }
  }

  /** A scan finds attempts of inactive endpoints: E·Q manual → E with the next batch */
  cancelLeft(endpointIds: readonly string[]): void {
    for (const id of endpointIds) Object.assign(this.endpoints.get(id) ?? {}, { cancelling: true });
  }

  /** P·Z → P·Q, if it is late by so much. */
  wake(id: string, late: number): boolean {
    const d = this.get(id);
    if (!d.asleep || d.nextAt === null || d.nextAt > this.now - late) return false;
    d.asleep = false;
    this.#queue(d, 'late', d.recovered ? 'recover' : 'schedule', d.nextAt);
    return true;
  }

  /** The watchdog's part for an event whose delivery it has queued. */
  askAgain(eventId: string): void {
    this.#raise(eventId, 'again');
  }

  byUrgency(one: ModelEvent, other: ModelEvent): number {
    return RANK.indexOf(one.outbox) - RANK.indexOf(other.outbox) || (one.id < other.id ? -1 : 1);
  }

  /** The workflow of a leased event starts, or reads its rows again. */
  startWorkflow(eventId: string, how: Outbox): void {
    const event = this.#event(eventId);
    const runs = event.follows !== null;
    if (how === 'delivered' ? event.isKnown : how === 'start' && runs) return;
    event.follows ??= new Set();
    event.isKnown = true;
    event.isLost = false;
    for (const d of this.of(eventId)) {
      if (d.status === 'pending') event.follows.add(d.id);
      d.isNews = false;
    }
  }

  /** The workflow looks at the row of a delivery that it follows, and returns when it follows none. */
  look(id: string): void {
    const d = this.get(id);
    const event = this.#event(d.eventId);
    if (d.status !== 'pending') event.follows?.delete(id);
    d.isNews = false;
    if (event.follows?.size === 0) event.follows = null;
  }

  /** What every state must satisfy, whatever the steps were. */
  faults(): string[] {
    const faults: string[] = [];
    for (const d of this.deliveries.values()) {
      if (d.status === 'pending' ? d.asleep === (d.queued !== null) : d.asleep)
        faults.push(`${d.id} is ${d.status}: it must sleep or be queued, and not both`);
      if ((d.status === 'pending') !== (d.nextAt !== null)) faults.push(`${d.id} is ${d.status}, planned ${d.nextAt}`);
      if (d.owesRetry && d.queued?.trigger !== 'manual') faults.push(`${d.id} has lost its manual retry`);
      const { outbox, follows, isLost } = this.#event(d.eventId);
      const isTold = outbox === 'start' || outbox === 'again' || follows?.has(d.id) || isLost;
      if ((d.asleep || d.isNews) && !isTold) faults.push(`no workflow learns of ${d.id}: the outbox says ${outbox}`);
    }
    return faults;
  }

  get(id: string): ModelDelivery {
    const delivery = this.deliveries.get(id);
    if (!delivery) throw new Error(`the model has no delivery ${id}`);
    return delivery;
  }

  of(eventId: string): ModelDelivery[] {
    return [...this.deliveries.values()].filter((d) => d.eventId === eventId);
  }

  #step(d: ModelDelivery, job: ModelJob, answer: Answer, late: boolean): void {
    const before = d.status;
    const manual = job.trigger === 'manual';
    const makesRetry = this.#makesRetry(d, job, late);
    const waits = d.queued?.trigger === 'manual' && !makesRetry;
    if (makesRetry) d.owesRetry = false;
    d.count++;
    if (answer === 'success') {
      if (before === 'pending' || manual || (late && before === 'failed')) this.#end(d, 'succeeded');
    } else if (answer === 'gone' && before === 'pending') {
      if (!manual) d.rung++;
      this.#end(d, 'failed');
    } else if (before === 'pending' && !manual) {
      const wait = d.ladder[d.rung];
      d.rung++;
      if (wait === undefined) this.#end(d, 'failed');
      else Object.assign(d, { asleep: !waits && (wait > 0 || !d.queued), nextAt: this.now + wait });
    } else if (before === 'pending') {
      d.asleep = (d.nextAt ?? 0) > this.now || !d.queued;
    }
    d.isNews = d.asleep || (d.status === 'failed' && before !== 'failed');
  }

  /** A retry that was accepted after this attempt's lease had ended is another attempt. */
  #makesRetry({ queued }: ModelDelivery, { token, trigger, until }: ModelJob, late: boolean): boolean {
    return trigger === 'manual' && (!late || (queued?.holder === token && queued.until === until));
  }

  /** A workflow waits for the record of an attempt of the late line: here, no activity awaits one. */
  #newsOf(d: ModelDelivery, { line }: ModelJob, isUnplanned: boolean): Outbox | null {
    if (isUnplanned) return 'again';
    if (line === 'late') return 'again';
    if (d.asleep || d.status === 'failed') return 'start';
    return d.status === 'pending' ? null : 'delivered';
  }

  /** An attempt that is due at once stays queued, free unless another worker has leased it. */
  #requeue(d: ModelDelivery, job: ModelJob, makesRetry: boolean): boolean {
    if (d.queued?.trigger === 'manual' && !makesRetry) return false;
    if (d.status !== 'pending' || d.asleep) {
      d.queued = null;
      return false;
    }
    if (!d.queued || (d.queued.holder ?? job.token) !== job.token) return false;
    this.#queue(d, 'fresh', d.recovered ? 'recover' : 'schedule', d.nextAt ?? this.now);
    return true;
  }

  #isActive({ endpointId }: ModelDelivery): boolean {
    return this.endpoints.get(endpointId)?.active ?? false;
  }

  #add({ id, endpointId }: Keys, eventId: string, given: Pick<ModelDelivery, 'ladder' | 'nextAt' | 'recovered'>): void {
    const fresh = { status: 'pending', count: 0, rung: 0, asleep: false, isNews: false } as const;
    this.deliveries.set(id, {
      id,
      eventId,
      endpointId,
      ...fresh,
      queued: null,
      retries: [],
      owesRetry: false,
      ...given,
    });
  }

  #queue(d: ModelDelivery, line: Line, trigger: Trigger, due: number): void {
    d.queued = { line, trigger, due, holder: null, until: null };
  }

  /** Its endpoint is inactive: a retry that was accepted before is not made. */
  #unqueue(d: ModelDelivery): void {
    d.queued = null;
    d.owesRetry = false;
  }

  #cancel(d: ModelDelivery): void {
    if (d.queued) this.#raise(d.eventId, d.queued.line === 'late' ? 'again' : 'delivered');
    this.#end(d, 'cancelled');
    d.isNews = false;
    this.#unqueue(d);
  }

  #end(d: ModelDelivery, status: 'succeeded' | 'failed' | 'cancelled'): void {
    Object.assign(d, { status, asleep: false, nextAt: null });
  }

  #raise(eventId: string, outbox: Outbox): void {
    const event = this.#event(eventId);
    if (RANK.indexOf(outbox) > RANK.indexOf(event.outbox)) return;
    event.outbox = outbox;
    event.leaseUntil = null;
  }

  #event(eventId: string): ModelEvent {
    const event = this.events.get(eventId);
    if (!event) throw new Error(`the model has no event ${eventId}`);
    return event;
  }
}
