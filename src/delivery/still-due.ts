import { LRUCache } from 'lru-cache';
import { Batcher } from '../platform/database/batcher.js';
import type { Handle } from '../platform/database/database.js';
import { timeOf } from '../platform/ids.js';
import type { LeasedAttempt } from './handover.js';
import { areDue } from './queue.js';

/**
 * An attempt that starts within this time after its lease, ms, had no wait. Any other looks at its endpoint again, which
 * may be disabled by then. An endpoint is read once in this time, however many attempts wait for it. An attempt may
 * therefore start within twice this time after its endpoint was disabled.
 */
const FRESH = 10;
/** Rows that one statement reads. */
const BATCH = 200;
/** Endpoints whose state is kept. */
const KEPT = 10_000;

/** Whether attempts that have waited may still be made. */
export class StillDue {
  readonly #since: LRUCache<string, { at: number | undefined }>;
  readonly #due: Batcher<string, boolean>;

  constructor(db: Handle, token: string) {
    const once = { size: BATCH, concurrency: 1, gather: 0 };
    const endpoints = new Batcher({ run: (ids: readonly string[]) => activeSince(db, ids), ...once });
    this.#since = new LRUCache({
      max: KEPT,
      ttl: FRESH,
      fetchMethod: async (endpointId: string) => ({ at: await endpoints.run(endpointId) }),
    });
    this.#due = new Batcher({ run: (ids: readonly string[]) => areDue(db, token, ids), ...once });
  }

  /**
   * Whether the endpoint of a leased attempt is active, and no disabling in between has cancelled its delivery.
   * @param leasedAt by `performance.now()`
   */
  async has({ endpointId, deliveryId }: LeasedAttempt, leasedAt: number): Promise<boolean> {
    if (performance.now() - leasedAt <= FRESH) return true;
    const since = await this.#since.fetch(endpointId);
    if (since?.at === undefined) return false;
    // A delivery from before the present enabled period: it was cancelled, or the clocks of two processes differ.
    return since.at <= timeOf(deliveryId) || this.#due.run(deliveryId);
  }
}

/** When the present enabled period of each endpoint began, ms since 1970; undefined: it is inactive. */
async function activeSince(db: Handle, endpointIds: readonly string[]): Promise<(number | undefined)[]> {
  const rows = await db.hot<{ id: string; since: number }>(ACTIVE_SINCE, [endpointIds]);
  const since = new Map(rows.map((row) => [row.id, row.since]));
  return endpointIds.map((id) => since.get(id));
}

const ACTIVE_SINCE = `
select id, (extract(epoch from enabled_at) * 1000)::float8 as since
  from webhook_endpoints where id = any($1::uuid[]) and enabled and deleted_at is null`;
