import type { WorkflowMode } from '../config.js';
import type { Handle } from '../database/database.js';
import type { DueEvent } from '../outbox/due-event.js';
import { leaseEvents } from '../outbox/lease-events.js';
import { markTrailing } from '../outbox/trailing.js';
import { BatchSize, MAX_BATCH } from './batch-size.js';
import { readStarts, type WorkflowStart } from './read-starts.js';
import type { StartBatch } from './start-batch.js';
import { attemptsDue, mayTrail } from './start-workflows.js';

export interface DueInTableOptions {
  db: Handle;
  /** `start`: events with something left to do. `trailing`: delivered events. */
  state: 'start' | 'trailing';
  workflows: WorkflowMode;
  retryDelays: readonly number[];
  /** The time in which one batch begins while these events give way to others, ms; 0: they do not give way. */
  pause: () => number;
  /** Whether Temporal may have the event now. An admitted event counts against the in-flight limit. */
  admit: (event: DueEvent) => boolean;
  /** Takes an event that is leased to this process and that Temporal may not have yet. */
  keep: (event: DueEvent) => void;
  /** Clients with at least `many` events in memory. Their events stay in the table. */
  saturated: (many: number) => readonly string[];
  /** Called when events of the state `start` proved to have nothing left to do, and became trailing events. */
  onTrailing: () => void;
}

/**
 * The second and the third source of the starter: due events of one state in the table that no process has leased,
 * oldest first of each client. It remembers whether the table may have more, so that an empty table is not asked again
 * and again.
 */
export class DueInTable {
  readonly #size = new BatchSize();
  #mayHaveMore = true;

  constructor(private readonly options: DueInTableOptions) {}

  get mayHaveMore(): boolean {
    return this.#mayHaveMore;
  }

  /** The table has a new due event, or a due event was returned to it. */
  expectMore(): void {
    this.#mayHaveMore = true;
  }

  /** ms for which the next batch gives way. */
  get wait(): number {
    return this.#size.wait(this.options.pause(), performance.now());
  }

  /** The next batch. It has no starts when all its events must wait. Undefined when the table has nothing to start. */
  async take(): Promise<StartBatch | undefined> {
    const { db, state, retryDelays, pause, admit, keep, saturated } = this.options;
    // Reset before the table is read: an event that becomes due meanwhile sets it again.
    this.#mayHaveMore = false;
    const size = this.#size.next(pause(), performance.now());
    const leased = await leaseEvents(db, state, size, [...saturated(MAX_BATCH)]);
    const admitted: DueEvent[] = [];
    const read = leased.length === 0 ? [] : await readStarts(db, leased, retryDelays);
    const left = await this.#withoutTrailing(read);
    const starts = left.filter((start) => {
      const event = { ...start.event, attempts: attemptsDue(start) };
      if (admit(event)) return admitted.push(event);
      keep(event);
      return false;
    });
    if (leased.length === 0) this.#size.reset();
    // When all events of a batch must wait, only a larger batch can find other events.
    const foundAll = starts.length === 0 && left.length === read.length && (read.length === 0 || size === MAX_BATCH);
    if (foundAll) return undefined;
    this.#mayHaveMore = true;
    return { admitted, starts };
  }

  /** The release before gives delivered events the state `start`. They become trailing events here. */
  async #withoutTrailing(starts: readonly WorkflowStart[]): Promise<readonly WorkflowStart[]> {
    const { db, state, workflows, onTrailing } = this.options;
    if (state === 'trailing' || workflows === 'retries-only') return starts;
    const trailing = starts.filter(mayTrail).map(({ input }) => input.eventId);
    if (trailing.length === 0) return starts;
    await markTrailing(db, trailing);
    onTrailing();
    return starts.filter((start) => !mayTrail(start));
  }
}
