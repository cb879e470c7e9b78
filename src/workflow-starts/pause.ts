import { setTimeout as sleep } from 'node:timers/promises';

/** The pauses of a loop, one at a time: news ends one that waits for it, the loop's end any. */
export class Pause {
  #ended = false;
  #now: { timer: AbortController; waitsForNews: boolean } | undefined;

  /** Waits so long, ms, or until `wake`. One that comes while nobody waits is not kept: its cause is there to be seen. */
  untilNews(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, true);
  }

  /** Waits so long, ms, whatever comes. */
  full(milliseconds: number): Promise<void> {
    return this.#wait(milliseconds, false);
  }

  wake(): void {
    if (this.#now?.waitsForNews) this.#now.timer.abort();
  }

  /** Ends the pause under way, and there is none after. */
  end(): void {
    this.#ended = true;
    this.#now?.timer.abort();
  }

  async #wait(milliseconds: number, waitsForNews: boolean): Promise<void> {
    if (this.#ended) return;
    const timer = new AbortController();
    this.#now = { timer, waitsForNews };
    await sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined);
    this.#now = undefined;
  }
}
