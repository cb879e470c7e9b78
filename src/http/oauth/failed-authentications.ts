import { RateLimiterMemory } from 'rate-limiter-flexible';
import { retryAfterOf } from '../../limiter.js';
import { hostNetwork } from '../../networks.js';
import { Refusal } from '../../refusal.js';

const LIMIT = 100;
const WINDOW_SECONDS = 60;

/**
 * Limits failed authentications of an address to 100 a minute in this process (contract, Tokens). They are not counted
 * by client, so that an attacker cannot lock out a client from another address. Successful authentications do not
 * count.
 */
export class FailedAuthentications {
  readonly #limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_SECONDS });

  /** @throws Refusal rate_limited if the address has reached the limit */
  async check(address: string): Promise<void> {
    const failed = await this.#limiter.get(hostNetwork(address));
    if (failed && failed.consumedPoints >= LIMIT) throw tooMany(retryAfterOf(failed));
  }

  /**
   * Counts a failure.
   * @throws Refusal rate_limited if it exceeds the limit, which covers requests that run at once
   */
  async count(address: string): Promise<void> {
    const failed = await this.#limiter.penalty(hostNetwork(address));
    if (failed.consumedPoints > LIMIT) throw tooMany(retryAfterOf(failed));
  }
}

function tooMany(retryAfter: number): Refusal {
  return new Refusal('rate_limited', 'Too many failed authentications from this address.', [], { retryAfter });
}
