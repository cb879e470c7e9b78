import { LRUCache } from 'lru-cache';
import { within } from '../time-limit.js';
import type { ClientRecord } from './client-record.js';
import type { Clock } from './clock.js';

/** ms; together with `LOOK_UP_LIMIT` it refuses a revoked client or secret within 5 s (contract, Scopes). */
const MAX_AGE = 3_000;
/**
 * ms after which a use of the record starts to read it again without waiting for the result, so that a slow read on a
 * busy machine refuses no request.
 */
const REFRESH_AFTER = 2_000;
/** ms after which a look-up that hangs fails. */
const LOOK_UP_LIMIT = 1_500;
const MAX_CLIENTS = 10_000;

/**
 * Caches the records of clients. A record is at most 3 s old, counted from the start of its look-up. Each client has at
 * most one look-up under way.
 */
export class ClientCache {
  readonly #records: LRUCache<string, ClientRecord>;
  /** Clients whose record is read again while the present record is used. */
  readonly #refreshing = new Set<string>();

  constructor(read: (clientId: string) => Promise<ClientRecord | undefined>, clock: Clock) {
    this.#records = new LRUCache({
      max: MAX_CLIENTS,
      ttl: MAX_AGE,
      ttlResolution: 0,
      ignoreFetchAbort: true,
      // A record whose refresh fails is used until it is 3 s old.
      noDeleteOnFetchRejection: true,
      perf: { now: () => clock.steady() },
      fetchMethod: async (clientId, _stale, { options }) => {
        const begun = clock.steady();
        const record = await within(LOOK_UP_LIMIT, read(clientId));
        options.ttl = Math.max(1, MAX_AGE - (clock.steady() - begun));
        return record;
      },
    });
  }

  /** Rejects if the record cannot be read and the cached record is too old. */
  async get(clientId: string): Promise<ClientRecord | undefined> {
    const remaining = this.#records.getRemainingTTL(clientId);
    const record = remaining > 0 ? this.#records.peek(clientId) : undefined;
    if (!record) return this.#records.fetch(clientId);
    if (remaining <= MAX_AGE - REFRESH_AFTER) void this.#refreshBehind(clientId);
    return record;
  }

  /** Like `get`, but bypasses the cache: for a token whose secret is newer than the cached record. */
  async refresh(clientId: string): Promise<ClientRecord | undefined> {
    // A refresh under way may have begun before the secret was made.
    if (this.#refreshing.has(clientId)) await this.#records.fetch(clientId).catch(() => undefined);
    return this.#records.fetch(clientId, { forceRefresh: true });
  }

  async #refreshBehind(clientId: string): Promise<void> {
    if (this.#refreshing.has(clientId)) return;
    this.#refreshing.add(clientId);
    // The next use tries again, and fails when the record is too old.
    await this.#records.fetch(clientId, { forceRefresh: true }).catch(() => undefined);
    this.#refreshing.delete(clientId);
  }
}
