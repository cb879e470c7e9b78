import type { WorkflowMode } from '../config.js';
import type { Handle } from '../database/database.js';
import type { DueEvent } from '../outbox/due-event.js';
import type { Waiting } from '../outbox/waiting.js';
import { DueInMemory } from './due-in-memory.js';
import { DueInTable } from './due-in-table.js';
import type { InFlightLimit } from './in-flight-limit.js';
import type { Pause } from './pause.js';
import type { StartBatch } from './start-batch.js';

/**
 * While first attempts come in a burst, one batch begins in this time, ms. That of a delivered event can wait longest:
 * two starts take some 40 ms of the cores that make the attempts.
 */
const PAUSE = { start: 250, trailing: 1_000 };
/** A source that gives way looks this often whether the burst has ended, ms. */
const LOOK = 250;

export interface SourcesOptions {
  db: Handle;
  retryDelays: readonly number[];
  workflows: WorkflowMode;
  /** Whether first attempts come in a burst. They go first. */
  busy: () => boolean;
  /** Shared with the activities, which report each attempt that has arrived. */
  inFlight: InFlightLimit;
}

/**
 * The three sources of due events, asked in this order, so that a retry never waits behind events that are already
 * delivered. `DueInMemory` holds the events that the lane of this process hands over, already leased, with an attempt
 * to make at once. One `DueInTable` leases the other events with something left to do (`start`), another the delivered
 * events (`trailing`).
 */
export class Sources {
  readonly #memory: DueInMemory;
  readonly #left: DueInTable;
  readonly #trailing: DueInTable;

  constructor(options: SourcesOptions) {
    const { inFlight, busy } = options;
    const admit = (event: DueEvent) => inFlight.admit(event.clientId, event.attempts, performance.now());
    this.#memory = new DueInMemory({ ...options, admit });
    const table = {
      ...options,
      admit,
      keep: (event: DueEvent) => this.#memory.keep(event),
      onTrailing: () => this.#trailing.expectMore(),
    };
    this.#left = new DueInTable({
      ...table,
      state: 'start',
      pause: () => (busy() ? PAUSE.start : 0),
      saturated: (many) => this.#memory.saturated(many),
    });
    // A delivered event is never kept in memory. It gives way to the attempts that wait there: more workflows delay them,
    // since each client has few attempts in flight, and those arrive later the busier Temporal is.
    this.#trailing = new DueInTable({
      ...table,
      state: 'trailing',
      pause: () => (busy() ? PAUSE.trailing : this.#memory.waits ? PAUSE.start : 0),
      saturated: () => [],
    });
  }

  /**
   * An event is due. An `urgent` event is leased to this process; any other is delivered, and in the table.
   * @returns whether a source has something new
   */
  due(event: DueEvent, urgent: boolean): boolean {
    if (urgent) this.#memory.keep(event);
    else if (this.#trailing.mayHaveMore) return false;
    else this.#trailing.expectMore();
    return true;
  }

  /** The tables may have more events of these states. */
  expectMore({ start, trailing }: Pick<Waiting, 'start' | 'trailing'> = { start: true, trailing: true }): void {
    if (start) this.#left.expectMore();
    if (trailing) this.#trailing.expectMore();
  }

  /** The next batch. It is empty when a table gave way in `pause`, and undefined when there is nothing to start. */
  async next(pause: Pause): Promise<StartBatch | undefined> {
    const urgent = await this.#memory.take();
    if (urgent) return urgent;
    for (const table of [this.#left, this.#trailing]) {
      if (!table.mayHaveMore) continue;
      const { wait } = table;
      if (wait > 0) {
        await pause.untilWoken(Math.min(wait, LOOK));
        return { admitted: [], starts: [] };
      }
      const batch = await table.take();
      if (batch) return batch;
    }
    return undefined;
  }

  /** Returns what memory holds to the table. */
  release(): Promise<void> {
    return this.#memory.release();
  }
}
