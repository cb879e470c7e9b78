/** Starts of one round. */
const FIRST = 2;
export const MAX_BATCH = 50;
/** While the lane is busy there is one round in so long, ms. */
const GIVE_WAY = 250;

/**
 * How many workflows that can wait a round starts, and when: few at first and while the lane is busy, then twice as many
 * each round. A burst of changes begins before it is seen, and fifty starts are a second of two cores.
 */
export class BatchSize {
  #last = 0;
  #nextAt = 0;

  /** How long the next round waits, ms. */
  wait(busy: boolean, now: number): number {
    return busy ? Math.max(0, this.#nextAt - now) : 0;
  }

  /** A round begins. @returns its size */
  next(busy: boolean, now: number): number {
    if (busy) this.#nextAt = now + GIVE_WAY;
    this.#last = busy ? FIRST : Math.min(Math.max(FIRST, 2 * this.#last), MAX_BATCH);
    return this.#last;
  }

  /** There was nothing to start. */
  rested(): void {
    this.#last = 0;
  }
}
