import { LRUCache } from 'lru-cache';
import { within } from '../time-limit.js';
import type { ClientRecord } from './client-record.js';
import type { Clock } from './clock.js';

/** ms; with `LOOK_UP_LIMIT`, what is revoked is refused within 5 s (contract, Scopes). */
const MAX_AGE = 3_000;
/** ms until a look-up that hangs has failed. */
const LOOK_UP_LIMIT = 1_500;
const MAX_CLIENTS = 10_000;

/** The records of clients, at most 3 s old counted from when the look-up began; one look-up at a time for each client. */
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

  /** Rejects where the record cannot be read and the cached one is too old. */
  get(clientId: string): Promise<ClientRecord | undefined> {
    return this.#records.fetch(clientId);
  }

  /** As `get`, past the cache: for a token whose secret was made since. */
  refresh(clientId: string): Promise<ClientRecord | undefined> {
    return this.#records.fetch(clientId, { forceRefresh: true });
  }
}
