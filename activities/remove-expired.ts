import { Context } from '@temporalio/activity';
import type { Handle } from '../src/platform/database/database.js';
import { failpoint } from '../src/platform/failpoints.js';
import { lowestIdAt } from '../src/platform/ids.js';
import {
  lowestIdBefore,
  removeExpiredEvents,
  removeExpiredRows,
  restAfterBatch,
  TABLES_WITH_EXPIRY,
} from '../src/platform/retention.js';
import type { Log } from '../src/platform/telemetry/log.js';
import type { RemoveExpiredActivities } from '../workflows/remove-expired.js';

/**
 * Events removed by one statement: it holds its locks for some ten milliseconds, and a longer one costs more an event.
 */
export const BATCH = 200;
/** Rows of each other table removed by one statement. */
const ROWS = 1_000;
/** How long one activity runs, ms: short enough to end in a shutdown's grace, long enough that histories stay short. */
const TURN = 15_000;
/** Longest rest after a batch, ms. */
const LONGEST_REST = 50;

/**
 * Removes rows in small batches. A rest as long as the batch follows each, but a short one where a loaded database
 * makes the batch long, so that removal keeps up with 1,000 changes a second.
 * @param retention ms
 * @param turn how long one activity runs, ms; it removes at least one batch
 */
export function createRemoveExpiredActivities(
  database: Handle,
  retention: number,
  log: Log,
  turn = TURN,
): RemoveExpiredActivities {
  return {
    async removeExpiredFor(request) {
      const { cancellationSignal, heartbeat } = Context.current();
      const until = performance.now() + turn;
      const before = await lowestIdBefore(database, retention);
      let removed = 0;
      let keys = 0;
      let after = request.after;
      let eventsLeft = true;
      let tables = TABLES_WITH_EXPIRY;
      let more: boolean;
      do {
        const since = performance.now();
        if (eventsLeft) {
          const batch = await removeExpiredEvents(database, { before, after, limit: BATCH });
          failpoint('after-removed');
          removed += batch.removed;
          eventsLeft = batch.after !== null;
          after = batch.after ?? after;
        }
        // A table is read again in this turn only if it may have more. Otherwise these reads take longer than the
        // removal of events.
        const full: (typeof tables)[number][] = [];
        for (const table of tables) {
          const count = await removeExpiredRows(database, table, retention, ROWS);
          if (table === 'idempotency_keys') keys += count;
          if (count >= ROWS) full.push(table);
        }
        tables = full;
        more = eventsLeft || tables.length > 0;
        heartbeat(removed);
        await restAfterBatch(since, LONGEST_REST);
      } while (more && !cancellationSignal.aborted && performance.now() < until);
      if (removed + keys > 0)
        log.info({ events: removed, idempotency_keys: keys }, 'removed rows older than the retention');
      // Null ends the run. Other tables may have more rows although no event has expired.
      return { removed, after: more ? (after ?? lowestIdAt(0)) : null };
    },
  };
}
