import { setImmediate } from 'node:timers/promises';
import { isConflict, isRefusedData } from './faults.js';

export interface BatcherOptions<Item, Result> {
  /** One statement for all of them, all or nothing; answers in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of one batch at most. */
  size: number;
  /** Batches under way at most. */
  concurrency: number;
}

/** Results handed out in one turn of the event loop. */
const SLICE = 4;

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: what arrives while statements run shares the next one, so that a round trip, a commit and a flush of the
 * log are paid once for many; alone, an item is run at once.
 */
export class Batcher<Item, Result> {
  readonly #waiting: Waiting<Item, Result>[] = [];
  #running = 0;
  #scheduled = false;

  constructor(private readonly options: BatcherOptions<Item, Result>) {}

  run(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      // Whatever this turn of the event loop brings goes together.
      void setImmediate().then(() => {
        this.#scheduled = false;
        this.#next();
      });
    });
  }

  #next(): void {
    while (this.#running < this.options.concurrency && this.#waiting.length > 0) {
      this.#running++;
      void this.#runBatch(this.#waiting.splice(0, this.options.size)).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.options.run(batch.map(({ item }) => item));
      // The next batch does not wait for what each of these does with its result.
      void handOut(batch, results);
    } catch (error) {
      // Rolled back for certain: each alone, so that one's fault is not the others'. After anything else it may have been
      // committed, and asking again would answer a change that was made with a refusal.
      if (batch.length > 1 && (isRefusedData(error) || isConflict(error))) {
        for (const waiting of batch) await this.#runBatch([waiting]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}

/** What each does next (answers, sends) would otherwise keep this process from its sockets for all of them together. */
async function handOut<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  results: readonly Result[],
): Promise<void> {
  for (const [i, { resolve }] of batch.entries()) {
    if (i > 0 && i % SLICE === 0) await setImmediate();
    resolve(results[i] as Result);
  }
}
