/** The two clocks of the auth code. A test sets them. */
export interface Clock {
  /** The wall clock, ms since 1970, for the times in tokens. */
  now(): number;
  /** A monotonic clock, ms since any point, for the ages of cached records. */
  steady(): number;
}

export const systemClock: Clock = { now: () => Date.now(), steady: () => performance.now() };

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
    private readonly clock: Clock,
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
