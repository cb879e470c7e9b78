import { RateLimiterMemory } from 'rate-limiter-flexible';
import { hostNetwork } from '../../networks.js';
import { TemporarilyUnavailable } from './errors.js';

const LIMIT = 100;
const WINDOW_SECONDS = 60;

/**
 * Failed authentications by address, 100 a minute in this process (contract, Tokens). Never by client: nobody can lock
 * out a client from elsewhere. What succeeds does not count.
 */
export class FailedAuthentications {
  readonly #limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_SECONDS });

  /** @throws TemporarilyUnavailable where the address has failed too often */
  async check(address: string): Promise<void> {
    const failed = await this.#limiter.get(hostNetwork(address));
    if (failed && failed.consumedPoints >= LIMIT) throw tooMany(failed.msBeforeNext);
  }

  /** Counts one more. @throws TemporarilyUnavailable where that is too many: those that came at once are counted too */
  async count(address: string): Promise<void> {
    const failed = await this.#limiter.penalty(hostNetwork(address));
    if (failed.consumedPoints > LIMIT) throw tooMany(failed.msBeforeNext);
  }
}

function tooMany(msBeforeNext: number): TemporarilyUnavailable {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  return new TemporarilyUnavailable('Too many failed authentications from this address.', 429, seconds);
}
