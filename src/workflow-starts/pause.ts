import { setTimeout as sleep } from 'node:timers/promises';

/** The pauses of a loop, one at a time. */
export class Pause {
  #ended = false;
  #current: { timer: AbortController; wakes: boolean } | undefined;

  /** Lasts so long, ms, or until `wake`. A `wake` that comes while nothing pauses is not kept: the loop sees its cause. */
  untilWoken(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, true);
  }

  /** Lasts so long, ms, through every `wake`. */
  full(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, false);
  }

  wake(): void {
    if (this.#current?.wakes) this.#current.timer.abort();
  }

  /** Ends the current pause, and every later one before it begins. */
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
