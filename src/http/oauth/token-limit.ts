import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { TemporarilyUnavailable } from './errors.js';

/** Signing a token takes about 1 ms of CPU; a client needs one token an hour. */
const TOKENS_PER_SECOND = 20;

/**
 * Limits the tokens of a client to 20 a second in this process (contract, Tokens). Counts only authenticated clients.
 */
export class TokenLimit {
  readonly #limiter = new RateLimiterMemory({ points: TOKENS_PER_SECOND, duration: 1 });

  /** Counts a token. @throws TemporarilyUnavailable if it exceeds the limit */
  async consume(clientId: string): Promise<void> {
    try {
      await this.#limiter.consume(clientId);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
      const description = `A client may request at most ${TOKENS_PER_SECOND} tokens a second. Use a token until it expires.`;
      throw new TemporarilyUnavailable(description, 429, seconds);
    }
  }
}
