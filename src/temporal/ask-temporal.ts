import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { Refusal } from '../refusal.js';
import { within } from '../time-limit.js';

/** A request waits this long for Temporal, the wait for its turn included, ms. */
const TIME_LIMIT = 5_000;
/**
 * The SDK ends a call late, because it checks the deadline before it tries again. After this, ms, the call is
 * abandoned.
 */
const GRACE = 500;
/** Calls of one client that Temporal works on at the same time, in this process. */
const AT_ONCE = 5;
/** Requests of one client that may wait for their turn, in this process. */
const WAITING = 100;
/** Clients whose calls are counted. Fewer clients than this make calls within the time limit. */
const CLIENTS = 10_000;

/**
 * Calls Temporal on behalf of a client of the API. The caller must hold no connection to Postgres meanwhile.
 * @throws Refusal `unavailable`: Temporal did not respond in time, and may have done the work; `rate_limited`
 */
export type AskTemporal = <T>(clientId: string, work: (temporal: Client) => Promise<T>) => Promise<T>;

/**
 * @param temporal returns undefined while Temporal is away
 * @param grace ms; longer where the connection closes soon, because the SDK must not try again on a closed connection
 */
export function boundedAsking(temporal: () => Client | undefined, grace = GRACE): AskTemporal {
  const limits = new LRUCache<string, ReturnType<typeof pLimit>>({ max: CLIENTS });
  return async (clientId, work) => {
    const limit = limits.get(clientId) ?? pLimit(AT_ONCE);
    limits.set(clientId, limit);
    if (limit.activeCount + limit.pendingCount >= AT_ONCE + WAITING) {
      const detail = `${AT_ONCE + WAITING} retries and recovers of this client are under way; try again in a moment.`;
      throw new Refusal('rate_limited', detail, [], { retryAfter: 1 });
    }
    const deadline = Date.now() + TIME_LIMIT;
    const asked = limit(async () => {
      const client = temporal();
      if (!client || Date.now() >= deadline) throw new Error('Temporal is away');
      return client.connection.withDeadline(deadline, () => work(client));
    });
    try {
      return await within(TIME_LIMIT + grace, asked);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw new Refusal('unavailable', 'Temporal does not respond; try again.', [], { cause: error });
    }
  };
}
