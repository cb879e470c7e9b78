import type { Handle } from '../database/database.js';
import type { DueEvent } from '../outbox/due-event.js';
import { releaseEvents, renewLeases } from '../outbox/lease-events.js';
import { readStarts } from './read-starts.js';
import type { StartBatch } from './start-batch.js';
import { StartQueue } from './start-queue.js';

/** Starts in one batch. A small batch, so that the event that arrives next waits for less. */
const BATCH = 32;
/** Events kept in memory. Those beyond it wait in the table. */
const CAPACITY = 2_000;
/** An event that finds no capacity in memory is due again, from the table, after this time, s. */
const POSTPONED = 5;

export interface DueInMemoryOptions {
  db: Handle;
  retryDelays: readonly number[];
  /** Whether Temporal may have the event now. An admitted event counts against the in-flight limit. */
  admit: (event: DueEvent) => boolean;
}

/**
 * The first source of the starter: due events that are leased to this process and kept in memory, in turn across
 * clients. It holds the events whose workflow has an attempt to make at once, and the events of the table that the
 * in-flight limit holds back.
 */
export class DueInMemory {
  readonly #queue = new StartQueue(CAPACITY);
  /** Events leased to this process that found no capacity in memory. They return to the table before the next batch. */
  #overflow: string[] = [];

  constructor(private readonly options: DueInMemoryOptions) {}

  /** Keeps an event until Temporal may have it. */
  keep(event: DueEvent): void {
    if (!this.#queue.push(event)) this.#overflow.push(event.eventId);
  }

  /** Whether events wait here for capacity in Temporal. */
  get waits(): boolean {
    return this.#queue.size > 0;
  }

  /** Clients with at least `many` events here. */
  saturated(many: number): string[] {
    return this.#queue.saturated(many);
  }

  /** The next batch; undefined when Temporal may have none of the waiting events now. */
  async take(): Promise<StartBatch | undefined> {
    const { db, retryDelays, admit } = this.options;
    if (this.#overflow.length > 0) await releaseEvents(db, this.#overflow.splice(0), POSTPONED);
    const admitted = this.#queue.take(BATCH, admit);
    if (admitted.length === 0) return undefined;
    const leased = await renewLeases(db, idsOf(admitted));
    return { admitted, starts: await readStarts(db, leased, retryDelays) };
  }

  /** Returns every event to the table, so that another worker starts its workflow before the lease runs out. */
  async release(): Promise<void> {
    const kept = [...idsOf(this.#queue.take(this.#queue.size, () => true)), ...this.#overflow.splice(0)];
    if (kept.length > 0) await releaseEvents(this.options.db, kept);
  }
}

const idsOf = (events: readonly DueEvent[]): string[] => events.map(({ eventId }) => eventId);
