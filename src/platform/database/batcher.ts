import { setImmediate } from 'node:timers/promises';
import { timeLeft } from '../deadline.js';
import { isConflict, isRefusedData } from './faults.js';
import { NoTurn } from './transaction-turns.js';

export interface BatcherOptions<Item, Result> {
  /** Runs one statement for all items, all or nothing. The results are in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Most items in a batch. */
  size: number;
  /** The most batches in progress. Unset: one. */
  concurrency?: number;
  /**
   * A batch that is not full begins at least this long after the last one began, ms: larger batches cost less CPU. The
   * first item after a rest runs at once. Unset: 0.
   */
  gather?: number;
  /** The statement is a part of a transaction: after an error none of its items is run alone. */
  isPart?: boolean;
  /** How long an item waits for its statement, ms. After that it is never run. Unset: as long as it takes. */
  wait?: number;
  /** How long a batch takes at most, ms. It has no item whose request has less time left. Unset: any time will do. */
  longest?: number;
}

/** Results that are resolved in one turn of the event loop. */
const SLICE = 4;

interface Waiting<Item, Result> {
  item: Item;
  /** By `performance.now()`: after it, no batch may begin with the item. */
  until: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: items that arrive while a statement runs share the next statement, and so share a round trip, a commit
 * and a flush of the log. A single item runs at once.
 */
export class Batcher<Item, Result> {
  readonly #waiting: Waiting<Item, Result>[] = [];
  #running = 0;
  /** By `performance.now()`. */
  #lastBegan = Number.NEGATIVE_INFINITY;
  #gathering: NodeJS.Timeout | undefined;
  #scheduled = false;

  constructor(private readonly options: BatcherOptions<Item, Result>) {}

  /** Items that wait, without those of the batches in progress. */
  get waiting(): number {
    return this.#waiting.length;
  }

  run(item: Item): Promise<Result> {
    const { wait = Number.POSITIVE_INFINITY, longest = Number.NEGATIVE_INFINITY } = this.options;
    return new Promise((resolve, reject) => {
      const until = performance.now() + Math.min(wait, timeLeft() - longest);
      this.#waiting.push({ item, until, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      // Items of the same turn of the event loop share a batch.
      void setImmediate().then(() => {
        this.#scheduled = false;
        this.#next();
      });
    });
  }

  #next(): void {
    const { concurrency = 1, gather = 0, size } = this.options;
    clearTimeout(this.#gathering);
    while (this.#running < concurrency && this.#waiting.length > 0) {
      const now = performance.now();
      const wait = this.#lastBegan + gather - now;
      if (wait > 0 && this.#waiting.length < size) {
        this.#gathering = setTimeout(() => this.#next(), Math.ceil(wait));
        return;
      }
      const batch = this.#inTime(this.#waiting.splice(0, size));
      if (batch.length === 0) continue;
      this.#lastBegan = now;
      this.#running++;
      void this.#runBatch(batch).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  /** Rejects the items that have waited too long: their callers give up, and must not be surprised by the result. */
  #inTime(items: readonly Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    return items.filter(({ until, reject }) => {
      const late = performance.now() > until;
      if (late) reject(new NoTurn('no statement began in time'));
      return !late;
    });
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const results = await this.options.run(batch.map(({ item }) => item));
      // The next batch does not wait for the callers that use these results.
      void resolveAll(batch, results);
    } catch (error) {
      // These errors mean that the batch was rolled back: each item runs alone, so that one bad item does not fail the
      // others. After any other error the batch may be committed, and a second run would refuse a change that was made.
      if (batch.length > 1 && !this.options.isPart && (isRefusedData(error) || isConflict(error))) {
        for (const waiting of batch) await this.#runBatch(this.#inTime([waiting]));
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}

/** Yields to the event loop between slices: the work that follows each result would otherwise block the sockets. */
async function resolveAll<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  results: readonly Result[],
): Promise<void> {
  for (const [i, { resolve }] of batch.entries()) {
    if (i > 0 && i % SLICE === 0) await setImmediate();
    resolve(results[i] as Result);
  }
}
