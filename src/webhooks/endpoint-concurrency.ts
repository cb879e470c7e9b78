import { LRUCache } from 'lru-cache';
import type { Handle } from '../database/database.js';

/** A changed limit counts for retries after this time at the latest, ms. */
const STALE_AFTER = 5_000;

/** The limits of attempts at once at endpoints, over all workers, for attempts whose claim has not read the endpoint. */
export class EndpointLimits {
  readonly #limits: LRUCache<string, number>;

  /** @param byDefault the limit of an endpoint without a limit of its own */
  constructor(db: Handle, byDefault: number) {
    const fetchMethod = (endpointId: string) => readLimit(db, endpointId, byDefault);
    this.#limits = new LRUCache({ max: 10_000, ttl: STALE_AFTER, fetchMethod });
  }

  async of(endpointId: string): Promise<number> {
    const limit = await this.#limits.fetch(endpointId);
    if (limit === undefined) throw new Error('the limit of an endpoint could not be read');
    return limit;
  }
}

async function readLimit(db: Handle, endpointId: string, byDefault: number): Promise<number> {
  const [row] = await db.query<{ limit: number | null }>(
    'select max_concurrency as "limit" from webhook_endpoints where id = $1::uuid',
    [endpointId],
  );
  return row?.limit ?? byDefault;
}
