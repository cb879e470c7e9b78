import { Limiter } from '../../limiter.js';
import { TemporarilyUnavailable } from './errors.js';

/** Signing a token takes about 1 ms of CPU; a client needs one token an hour. */
const TOKENS_PER_SECOND = 20;

/**
 * Limits the tokens of a client to 20 a second in this process (contract, Tokens). Counts only authenticated clients.
 */
export class TokenLimit {
  readonly #limiter = new Limiter({ points: TOKENS_PER_SECOND, duration: 1 });

  /** Counts a token. @throws TemporarilyUnavailable if it exceeds the limit */
  consume(clientId: string): Promise<void> {
    const description = `A client may request at most ${TOKENS_PER_SECOND} tokens a second. Use a token until it expires.`;
    return this.#limiter.consume(clientId, (seconds) => new TemporarilyUnavailable(description, 429, seconds));
  }
}
