import type { Line } from '../../../src/delivery/handover.js';
import type { Trigger } from '../../../src/platform/vocabulary.js';

// The table of transitions of docs/architecture.md, written a second time, without SQL. The test compares it with the rows.

/** Delays after the first, second and third attempt: a rung of 0 s, a longer one, and the end. */
export const MODEL_LADDER = [0, 60_000] as const;

export interface ModelDelivery {
  id: string;
  eventId: string;
  endpointId: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  count: number;
  rung: number;
  recovered: boolean;
  asleep: boolean;
  /** The planned time has passed. */
  overdue: boolean;
  queued: { line: Line; trigger: Trigger; holder: string | null } | null;
  /** Cancelled because its endpoint is gone. */
  gone: boolean;
  retries: number;
}

export interface ModelEvent {
  id: string;
  outbox: 'attempt' | 'delivered' | 'start' | 'again' | 'done';
}

export interface ModelEndpoint {
  id: string;
  active: boolean;
  deleted: boolean;
}

/** An attempt in the memory of a worker. */
export interface ModelJob {
  worker: string;
  deliveryId: string;
  number: number;
  trigger: Trigger;
  single: boolean;
}

export type Answer = 'success' | 'failure' | 'gone';

const RANK = ['attempt', 'delivered', 'start', 'again'] as const;

export class Model {
  readonly deliveries = new Map<string, ModelDelivery>();
  readonly events = new Map<string, ModelEvent>();
  readonly endpoints = new Map<string, ModelEndpoint>();

  /** – → P·Q, leased to `holder` where the producer has a dispatcher */
  event(id: string, deliveries: readonly { id: string; endpointId: string }[], holder: string | null): void {
    this.events.set(id, { id, outbox: deliveries.length > 0 ? 'attempt' : 'delivered' });
    for (const delivery of deliveries) this.#add({ ...delivery, eventId: id }, 'fresh', 'schedule', holder);
  }

  /** – → P·Q by include_missing */
  missing(delivery: { id: string; eventId: string; endpointId: string }): void {
    this.#add(delivery, 'late', 'recover', null);
    this.#get(delivery.id).recovered = true;
    this.#tell(delivery.eventId, 'again');
  }

  lease(id: string, holder: string): void {
    const { queued } = this.#get(id);
    if (queued) queued.holder = holder;
  }

  giveBack(id: string, holder: string): void {
    const { queued } = this.#get(id);
    if (queued?.holder === holder) queued.holder = null;
  }

  leaseEnds(id: string): void {
    const { queued } = this.#get(id);
    if (queued) queued.holder = null;
  }

  /** Whether the attempt of a leased row may be made. */
  isDue(id: string): boolean {
    const delivery = this.#get(id);
    const active = this.endpoints.get(delivery.endpointId)?.active ?? false;
    return active && (delivery.status === 'pending' || delivery.queued?.trigger === 'manual');
  }

  /** P·L → C, E·L → E where it is not due */
  drop(id: string, holder: string): void {
    const delivery = this.#get(id);
    if (this.isDue(id)) return;
    if (delivery.status === 'pending') this.#cancel(delivery, false);
    if (delivery.queued?.holder === holder) delivery.queued = null;
  }

  /** @returns the next attempt, if it is due at once and leased to the recording worker */
  record(
    job: ModelJob,
    answer: Answer,
    isOnly: boolean,
    retriesOnly: boolean,
  ): { number: number; trigger: Trigger } | null {
    const d = this.#get(job.deliveryId);
    const late = job.number !== d.count + 1;
    if (late && answer !== 'success') return null;
    const before = d.status;
    const manual = job.trigger === 'manual';
    d.count++;
    if (answer === 'success') {
      if (before === 'pending' || manual || (late && before === 'failed')) this.#end(d, 'succeeded');
    } else if (answer === 'gone' && before === 'pending') {
      if (!manual) d.rung++;
      this.#end(d, 'failed');
    } else if (answer === 'gone' && before === 'cancelled' && d.gone && !job.single) {
      this.#end(d, 'failed');
    } else if (before === 'pending' && !manual) {
      const wait = MODEL_LADDER[d.rung];
      d.rung++;
      if (wait === undefined) this.#end(d, 'failed');
      else {
        d.asleep = wait > 0;
        d.overdue = wait === 0;
      }
    } else if (before === 'pending') {
      d.asleep = !d.overdue;
    }
    // A late success is as unplanned for a workflow as a manual retry.
    const told =
      manual || late
        ? 'again'
        : d.asleep || d.status === 'failed'
          ? 'start'
          : d.status === 'pending'
            ? 'attempt'
            : null;
    if (told) this.#tell(d.eventId, told);
    else if (isOnly && retriesOnly) this.#done(d.eventId);
    else this.#tell(d.eventId, 'delivered');
    if (d.status !== 'pending' || d.asleep) {
      d.queued = null;
      return null;
    }
    if (d.queued?.holder !== job.worker) return null;
    const trigger = d.recovered ? 'recover' : 'schedule';
    d.queued = { line: 'fresh', trigger, holder: job.worker };
    return { number: d.count + 1, trigger };
  }

  /** @returns whether the retry counts */
  retry(id: string): boolean {
    const d = this.#get(id);
    if (d.queued && (d.queued.trigger === 'manual' || d.queued.holder !== null)) return false;
    d.asleep = false;
    d.queued = { line: 'fresh', trigger: 'manual', holder: null };
    d.retries++;
    return true;
  }

  recover(id: string): void {
    const d = this.#get(id);
    Object.assign(d, { status: 'pending', rung: 0, recovered: true, asleep: false, overdue: true, gone: false });
    d.queued ??= { line: 'late', trigger: 'recover', holder: null };
    this.#tell(d.eventId, 'again');
  }

  /** Disabling, deletion, or a 410. */
  deactivate(endpointId: string, { gone = false, deleted = false } = {}): void {
    const endpoint = this.endpoints.get(endpointId);
    if (!endpoint) return;
    endpoint.active = false;
    endpoint.deleted ||= deleted;
    for (const d of this.deliveries.values()) {
      if (d.endpointId === endpointId && d.status === 'pending') this.#cancel(d, gone);
    }
  }

  timePasses(id: string): void {
    this.#get(id).overdue = true;
  }

  /** P·Z → P·Q, if its time has come. */
  wake(id: string, byWatchdog: boolean): boolean {
    const d = this.#get(id);
    if (!d.asleep || !d.overdue) return false;
    d.asleep = false;
    d.queued = { line: 'late', trigger: d.recovered ? 'recover' : 'schedule', holder: null };
    const event = this.events.get(d.eventId);
    if (byWatchdog && event?.outbox === 'done') event.outbox = 'again';
    return true;
  }

  #add(
    { id, eventId, endpointId }: { id: string; eventId: string; endpointId: string },
    line: Line,
    trigger: Trigger,
    holder: string | null,
  ): void {
    const start = { status: 'pending', count: 0, rung: 0, recovered: false, asleep: false, overdue: true } as const;
    this.deliveries.set(id, {
      id,
      eventId,
      endpointId,
      ...start,
      queued: { line, trigger, holder },
      gone: false,
      retries: 0,
    });
  }

  #cancel(d: ModelDelivery, gone: boolean): void {
    this.#end(d, 'cancelled');
    d.gone = gone;
    if (d.queued?.holder === null) d.queued = null;
    const event = this.events.get(d.eventId);
    if (event?.outbox === 'attempt') event.outbox = 'delivered';
  }

  #end(d: ModelDelivery, status: 'succeeded' | 'failed' | 'cancelled'): void {
    Object.assign(d, { status, asleep: false, overdue: false, gone: false });
  }

  #tell(eventId: string, state: (typeof RANK)[number]): void {
    const event = this.events.get(eventId);
    if (!event) return;
    if (state === 'again') event.outbox = 'again';
    else if (event.outbox !== 'done' && RANK.indexOf(state) > RANK.indexOf(event.outbox)) event.outbox = state;
  }

  #done(eventId: string): void {
    const event = this.events.get(eventId);
    if (event) event.outbox = 'done';
  }

  #get(id: string): ModelDelivery {
    const delivery = this.deliveries.get(id);
    if (!delivery) throw new Error(`the model has no delivery ${id}`);
    return delivery;
  }
}
