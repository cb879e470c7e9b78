import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { TemporarilyUnavailable } from './errors.js';

/** Signing one token takes about 1 ms of CPU; a client needs one an hour. */
const TOKENS_PER_SECOND = 20;

/** Tokens by client, 20 a second in this process (contract, Tokens). Counts only clients that have shown their secret. */
export class TokenLimit {
  readonly #limiter = new RateLimiterMemory({ points: TOKENS_PER_SECOND, duration: 1 });

  /** Counts one more. @throws TemporarilyUnavailable where that is too many */
  async consume(clientId: string): Promise<void> {
    try {
      await this.#limiter.consume(clientId);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
      const description = `A client gets ${TOKENS_PER_SECOND} tokens a second. Use a token until it expires.`;
      throw new TemporarilyUnavailable(description, 429, seconds);
    }
  }
}
