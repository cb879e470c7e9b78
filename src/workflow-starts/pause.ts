import { setTimeout as sleep } from 'node:timers/promises';

/** The pauses of one loop. Two pauses never overlap. */
export class Pause {
  #ended = false;
  #current: { timer: AbortController; wakes: boolean } | undefined;

  /**
   * Pauses for this time, ms, or until `wake`. A `wake` outside of a pause is not kept: the loop sees its cause itself.
   */
  untilWoken(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, true);
  }

  /** Pauses for this time, ms. A `wake` does not end it. */
  full(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, false);
  }

  wake(): void {
    if (this.#current?.wakes) this.#current.timer.abort();
  }

  /** Ends the current pause. Every later pause ends at once. */
  end(): void {
    this.#ended = true;
    this.#current?.timer.abort();
  }

  async #wait(milliseconds: number, wakes: boolean): Promise<void> {
    if (this.#ended) return;
    const timer = new AbortController();
    this.#current = { timer, wakes };
    await sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined);
    this.#current = undefined;
  }
}
