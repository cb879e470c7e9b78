import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Handle } from '../src/database/database.js';
import { failpoint } from '../src/failpoints.js';
import { firstKept, removeExpiredEvents } from '../src/retention/expired-events.js';
import { removeExpiredRows, TABLES_WITH_EXPIRY } from '../src/retention/expired-rows.js';
import type { Log } from '../src/telemetry/log.js';
import type { RemoveExpiredActivities } from '../workflows/remove-expired.js';

/** Events removed by one statement: it holds its locks for some ten milliseconds. */
const BATCH = 200;
/** Rows of each other table removed by one statement. */
const ROWS = 1_000;
/** How long one activity runs, ms: short enough to end in a shutdown's grace, long enough that histories stay short. */
const TURN = 15_000;
/** Shortest rest after a batch, ms. */
const REST = 20;

export interface RemoveExpiredDependencies {
  database: Handle;
  /** ms */
  retention: number;
  log: Log;
}

/**
 * Removes rows in small batches. A rest as long as the batch follows each, so that removal takes at most half of one
 * connection's time.
 */
export function createRemoveExpiredActivities(dependencies: RemoveExpiredDependencies): RemoveExpiredActivities {
  const { database, retention, log } = dependencies;
  return {
    async removeExpiredFor(request) {
      const { cancellationSignal, heartbeat } = Context.current();
      const until = performance.now() + TURN;
      const before = await firstKept(database, retention);
      let removed = 0;
      let keys = 0;
      let after = request.after;
      let more = true;
      while (more && !cancellationSignal.aborted && performance.now() < until) {
        const since = performance.now();
        const batch = await removeExpiredEvents(database, { before, after, limit: BATCH });
        failpoint('after-removed');
        let mayHaveMore = batch.after !== null;
        for (const table of TABLES_WITH_EXPIRY) {
          const count = await removeExpiredRows(database, table, retention, ROWS);
          if (table === 'idempotency_keys') keys += count;
          if (count >= ROWS) mayHaveMore = true;
        }
        removed += batch.removed;
        after = batch.after ?? after;
        more = mayHaveMore;
        heartbeat(removed);
        await sleep(Math.max(REST, performance.now() - since));
      }
      if (removed + keys > 0)
        log.info({ events: removed, idempotency_keys: keys }, 'removed rows older than the retention');
      return { removed, after: more ? after : null };
    },
  };
}
