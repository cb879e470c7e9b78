/** The two clocks of the auth code, so that a test can set them. */
export interface Clock {
  /** The wall clock, ms since 1970: what tokens carry. */
  now(): number;
  /** ms since any point, never set back: ages of what is cached. */
  steady(): number;
}

export const systemClock: Clock = { now: () => Date.now(), steady: () => performance.now() };
