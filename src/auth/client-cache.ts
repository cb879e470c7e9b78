import { LRUCache } from 'lru-cache';
import { within } from '../time-limit.js';
import type { ClientRecord } from './client-record.js';
import type { Clock } from './clock.js';

/** ms; together with `LOOK_UP_LIMIT` it refuses a revoked client or secret within 5 s (contract, Scopes). */
const MAX_AGE = 3_000;
/** ms after which a look-up that hangs fails. */
const LOOK_UP_LIMIT = 1_500;
const MAX_CLIENTS = 10_000;

/**
 * Caches the records of clients. A record is at most 3 s old, counted from the start of its look-up. Each client has at
 * most one look-up under way.
 */
export class ClientCache {
  readonly #records: LRUCache<string, ClientRecord>;

  constructor(read: (clientId: string) => Promise<ClientRecord | undefined>, clock: Clock) {
    this.#records = new LRUCache({
      max: MAX_CLIENTS,
      ttl: MAX_AGE,
      ttlResolution: 0,
      ignoreFetchAbort: true,
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
  get(clientId: string): Promise<ClientRecord | undefined> {
    return this.#records.fetch(clientId);
  }

  /** Like `get`, but bypasses the cache: for a token whose secret is newer than the cached record. */
  refresh(clientId: string): Promise<ClientRecord | undefined> {
    return this.#records.fetch(clientId, { forceRefresh: true });
  }
}
