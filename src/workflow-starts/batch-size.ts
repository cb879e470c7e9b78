/** Starts in the first batch, and in each batch that gives way. */
const FIRST = 2;
export const MAX_BATCH = 50;

/**
 * The size and the time of the batches of starts that can wait. Batches are small at first and while they give way;
 * otherwise each is twice as large as the one before. A burst begins before it is noticed, and 50 starts take two
 * cores a second. `pause` is the time in which one batch begins while batches give way, ms; 0: they do not.
 */
export class BatchSize {
  #last = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** ms until the next batch may begin. */
  wait(pause: number, now: number): number {
    return pause === 0 ? 0 : Math.max(0, this.#lastAt + pause - now);
  }

  /** A batch begins. @returns its size */
  next(pause: number, now: number): number {
    this.#lastAt = now;
    this.#last = pause > 0 ? FIRST : Math.min(Math.max(FIRST, 2 * this.#last), MAX_BATCH);
    return this.#last;
  }

  /** The table had nothing to start: the next batch is small again. */
  reset(): void {
    this.#last = 0;
  }
}
