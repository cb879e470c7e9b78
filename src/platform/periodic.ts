import { setTimeout as sleep } from 'node:timers/promises';

interface PeriodicOptions {
  /** ms between two runs. */
  interval: number;
  run: () => Promise<void>;
  /** Asked at the start and at each interval: whether to run. Always by default. */
  isDue?: () => Promise<boolean>;
  /** Handles an error of `run` or `isDue`. The next run waits for its end. */
  onFault: (error: unknown) => Promise<void> | void;
}

/**
 * Work that repeats in one process: at the start, at an interval, and at once on request. Neither two runs nor two
 * questions whether one is due overlap. A request that arrives during a run causes one more run after it, so that no
 * request is lost.
 */
export class Periodic {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #requested = false;
  #looking = false;
  readonly #stopping = new AbortController();

  constructor(private readonly options: PeriodicOptions) {}

  get stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), this.options.interval);
    void this.#look();
  }

  request(): void {
    if (this.stopped) return;
    this.#requested = true;
    this.#running ??= this.#runWhileRequested().finally(() => {
      this.#running = undefined;
    });
  }

  /** For a run that pauses: resolves after `ms`, or at once when the work stops. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** Starts no further run, and waits for the run in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    await this.#running;
  }

  async #look(): Promise<void> {
    const { isDue, onFault } = this.options;
    if (this.#looking) return;
    this.#looking = true;
    try {
      if (!isDue || (await isDue())) this.request();
    } catch (error) {
      await onFault(error);
    } finally {
      this.#looking = false;
    }
  }

  async #runWhileRequested(): Promise<void> {
    while (this.#requested && !this.stopped) {
      this.#requested = false;
      try {
        await this.options.run();
      } catch (error) {
        await this.options.onFault(error);
      }
    }
  }
}
