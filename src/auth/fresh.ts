/** The two clocks of the auth code. A test sets them. */
export interface Clock {
  /** Postgres's clock, ms since 1970, for the times in tokens and of secrets. */
  now(): number | Promise<number>;
  /** A monotonic clock, ms since any point, for the ages of cached records. */
  steady(): number;
}

const steady = () => performance.now();

/**
 * Postgres's clock as it was read in the last 3 s, and the time since then: this process's own clock may be wrong.
 * @param read ms since 1970
 */
export function postgresClock(read: () => Promise<number>): Clock {
  const offset = new Fresh(async () => (await read()) - steady(), { steady });
  return { now: async () => (await offset.get()) + steady(), steady };
}

/** ms, counted from the start of the read. */
const MAX_AGE = 3_000;
/**
 * ms after which a use starts to read again without waiting for the result, so that a slow read on a busy machine
 * refuses no request.
 */
const REFRESH_AFTER = 2_000;

/** Caches what decides about access, for at most 3 s. Its users share one read at a time. */
export class Fresh<T> {
  #known: { value: T; readAt: number } | undefined;
  #reading: Promise<T> | undefined;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly clock: Pick<Clock, 'steady'>,
  ) {}

  /** Rejects if the value is older than `maxAge` (ms) and cannot be read. */
  async get(maxAge = MAX_AGE): Promise<T> {
    const known = this.#known;
    const age = known ? this.clock.steady() - known.readAt : Number.POSITIVE_INFINITY;
    if (!known || age >= maxAge) return this.#readOnce();
    // The next use tries again, and fails when the value is too old.
    if (age >= REFRESH_AFTER) this.#readOnce().catch(() => undefined);
    return known.value;
  }

  /** Reads what is newer than the call. A read in progress may have begun too early. */
  async refresh(): Promise<T> {
    await this.#reading?.catch(() => undefined);
    return this.#readOnce();
  }

  #readOnce(): Promise<T> {
    const readAt = this.clock.steady();
    this.#reading ??= this.read()
      .then((value) => {
        this.#known = { value, readAt };
        return value;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }
}
