import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Counts what a key, such as a client or an address, uses in this process, and refuses what exceeds the limit. */
export class Limiter {
  readonly #limiter: RateLimiterMemory;

  /** @param limit at most `points` in each `duration`, in seconds */
  constructor(limit: { points: number; duration: number }) {
    this.#limiter = new RateLimiterMemory(limit);
  }

  /**
   * Counts one point.
   * @param refusal makes the error; its argument is the number of seconds for `Retry-After`
   * @throws the error that `refusal` makes, if the point exceeds the limit
   */
  async consume(key: string, refusal: (retryAfter: number) => Error): Promise<void> {
    try {
      await this.#limiter.consume(key);
    } catch (rejection) {
      throw rejection instanceof RateLimiterRes ? refusal(retryAfterOf(rejection)) : rejection;
    }
  }
}

/** The whole seconds until points are free again, at least 1: the value of `Retry-After` (RFC 9110 §10.2.3). */
export function retryAfterOf({ msBeforeNext }: Pick<RateLimiterRes, 'msBeforeNext'>): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1_000));
}
