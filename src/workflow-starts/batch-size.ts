/** Starts in the first batch, and in each batch during a burst. */
const FIRST = 2;
export const MAX_BATCH = 50;
/** During a burst one batch is started in this time, ms. */
const GIVE_WAY = 250;

/**
 * The size and the time of the batches of starts that can wait. Batches are small at first and during a burst;
 * otherwise each is twice as large as the one before. A burst begins before it is noticed, and 50 starts take two
 * cores a second.
 */
export class BatchSize {
  #last = 0;
  #nextAt = 0;

  /** ms until the next batch may begin. */
  wait(busy: boolean, now: number): number {
    return busy ? Math.max(0, this.#nextAt - now) : 0;
  }

  /** A batch begins. @returns its size */
  next(busy: boolean, now: number): number {
    if (busy) this.#nextAt = now + GIVE_WAY;
    this.#last = busy ? FIRST : Math.min(Math.max(FIRST, 2 * this.#last), MAX_BATCH);
    return this.#last;
  }

  /** The table had nothing to start: the next batch is small again. */
  reset(): void {
    this.#last = 0;
  }
}
