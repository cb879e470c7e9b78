/** The two clocks of the auth code. A test sets them. */
export interface Clock {
  /** The wall clock, ms since 1970, for the times in tokens. */
  now(): number;
  /** A monotonic clock, ms since any point, for the ages of cached records. */
  steady(): number;
}

export const systemClock: Clock = { now: () => Date.now(), steady: () => performance.now() };
