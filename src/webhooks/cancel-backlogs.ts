import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.js';
import { tryLockInTransaction } from '../database/database.js';
import { reportTo } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import { Periodic } from '../periodic.js';
import type { Log } from '../telemetry/log.js';
import { cancelPending } from './cancel-pending.js';

const INTERVAL = 1_000;
/** A batch and the rest after it take at least this long, ms: at most 10,000 deliveries a second for each worker. */
const LEAST = 100;

export interface CancelBacklogsOptions {
  db: Database;
  log: Log;
}

/**
 * Cancels the pending deliveries that the disabling or deletion of an endpoint left over, in batches, one endpoint after
 * the other. Any worker continues after a crash, because an endpoint's row says where. One worker at a time makes a
 * batch, and rests at least as long as the batch took, so that a large backlog leaves Postgres to others.
 */
export function cancelBacklogs({ db, log }: CancelBacklogsOptions): Periodic {
  /** The endpoint of the last batch. */
  let last: string | null = null;
  /** @returns whether this worker continues: false if nothing is left, or another worker makes a batch */
  const cancelBatch = async (): Promise<boolean> => {
    const since = performance.now();
    const batch = await db.transaction(async (tx) => {
      if (!(await tryLockInTransaction(tx, 'cancel backlogs'))) return undefined;
      const [endpoint] = await tx.query<{ id: string }>(NEXT, [last]);
      return endpoint && { id: endpoint.id, more: await cancelPending(tx, endpoint.id) };
    });
    if (!batch) return false;
    failpoint('after-cancelled');
    last = batch.id;
    if (!batch.more) log.info({ webhook_id: batch.id }, 'all pending deliveries of an inactive endpoint are cancelled');
    const took = performance.now() - since;
    await sleep(Math.max(took, LEAST - took));
    return true;
  };
  const loop = new Periodic({
    interval: INTERVAL,
    run: async () => {
      while (!loop.stopped && (await cancelBatch()));
    },
    onFault: reportTo(log, 'cancelling deliveries of inactive endpoints failed; next try in a second'),
  });
  return loop;
}

/** The endpoint after the one of the last batch, in turn. One that is being changed comes later. */
const NEXT = `
select id from webhook_endpoints where cancelling_after is not null
 order by $1::uuid is null or id > $1::uuid desc, id limit 1 for no key update skip locked`;
