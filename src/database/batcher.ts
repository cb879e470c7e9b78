import { isConflict, isRefusedData } from './faults.js';

export interface BatcherOptions<Item, Result> {
  /** One statement for all of them, all or nothing; answers in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of one batch at most. */
  size: number;
  /** Batches under way at most. */
  concurrency: number;
}

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
      setImmediate(() => {
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
      batch.forEach(({ resolve }, i) => {
        resolve(results[i] as Result);
      });
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
