import type { Handle } from '../../database/database.js';
import { SharedLimit } from '../../database/shared-limit.js';
import { hostNetwork } from '../../networks.js';
import { Refusal } from '../../refusal.js';

const LIMIT = 100;
const WINDOW_SECONDS = 60;

/**
 * Limits failed authentications of an address to 100 a minute, over all processes (contract, Tokens). They are not
 * counted by client, so that an attacker cannot lock out a client from another address. Successful authentications do
 * not count.
 */
export class FailedAuthentications {
  readonly #limit = new SharedLimit({ name: 'failed-authentications', points: LIMIT, duration: WINDOW_SECONDS });

  constructor(private readonly db: Handle) {}

  /** @throws Refusal rate_limited if the address has reached the limit */
  check(address: string): Promise<void> {
    return this.#limit.check(this.db, hostNetwork(address), tooMany);
  }

  /**
   * Counts a failure.
   * @throws Refusal rate_limited if it exceeds the limit, which covers requests that run at once
   */
  count(address: string): Promise<void> {
    return this.#limit.consume(this.db, hostNetwork(address), tooMany);
  }
}

function tooMany(retryAfter: number): Refusal {
  return new Refusal('rate_limited', 'Too many failed authentications from this address.', [], { retryAfter });
}
