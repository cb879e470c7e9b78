import { setTimeout as sleep } from 'node:timers/promises';

const EVERY = 10_000;

/** Shows a person what a run does: a line for each phase, and every 10 s what it waits for. Ends what takes too long. */
export class Progress {
  readonly #began = performance.now();
  readonly #say: (line: string) => void;
  readonly #late: Promise<never>;
  readonly #ended = new AbortController();
  #phase = 'begins';
  #left: () => string = () => '';

  /** @param limit ms after which `within` rejects with the phase and what it waits for */
  constructor(say: (line: string) => void, limit: number) {
    this.#say = say;
    const { signal } = this.#ended;
    this.#late = sleep(limit, undefined, { signal }).then(() => {
      throw new Error(`not finished after ${limit / 1_000} s: ${this.#now}`);
    });
    this.#late.catch(() => undefined);
    const timer = setInterval(() => this.say(`still ${this.#now}`), EVERY);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  get #now(): string {
    return [this.#phase, this.#left()].filter(Boolean).join(': ');
  }

  /** Prints a line, after the seconds since the start. */
  say(line: string): void {
    this.#say(`${((performance.now() - this.#began) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  }

  /** @param left what the phase waits for at the moment */
  phase(name: string, left: () => string = () => ''): void {
    this.#phase = name;
    this.#left = left;
    this.say(name);
  }

  /** @throws when the time of the whole run is over */
  within<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#late]);
  }

  end(): void {
    this.#ended.abort();
  }
}
