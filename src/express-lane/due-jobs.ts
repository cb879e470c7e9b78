import { LRUCache } from 'lru-cache';
import { Batcher } from '../database/batcher.js';
import type { Handle } from '../database/database.js';
import { timeOf } from '../ids.js';
import { activeSince, areDue } from '../webhooks/claim.js';
import type { LaneJob } from './lane-event.js';

/**
 * A job that starts within this time after the commit or the lease of its event, ms, had no wait. Any other job looks at
 * its endpoint again, which may be disabled by then. An endpoint is read once in this time, however many jobs wait for it.
 * An attempt may therefore start within twice this time after its endpoint was disabled.
 */
const FRESH = 10;
/** Rows that one statement reads. */
const BATCH = 200;
/** Endpoints whose state is kept. */
const KEPT = 10_000;

/** Whether jobs that have waited may still be made. */
export class DueJobs {
  readonly #since: LRUCache<string, { at: number | undefined }>;
  readonly #due: Batcher<string, boolean>;

  constructor(db: Handle) {
    const once = { size: BATCH, concurrency: 1, gather: 0 };
    const endpoints = new Batcher({ run: (ids: readonly string[]) => activeSince(db, ids), ...once });
    this.#since = new LRUCache({
      max: KEPT,
      ttl: FRESH,
      fetchMethod: async (endpointId: string) => ({ at: await endpoints.run(endpointId) }),
    });
    this.#due = new Batcher({ run: (ids: readonly string[]) => areDue(db, ids), ...once });
  }

  /** Whether the endpoint of a job is active, and its delivery was not cancelled by an earlier disabling. */
  async has({ event, delivery }: LaneJob): Promise<boolean> {
    if (performance.now() - event.leasedAt <= FRESH) return true;
    const since = await this.#since.fetch(delivery.endpointId);
    if (since?.at === undefined) return false;
    // An event from before the present enabled period: its delivery was cancelled, or the clocks of two processes differ.
    return since.at <= timeOf(event.event.eventId) || this.#due.run(delivery.deliveryId);
  }
}
