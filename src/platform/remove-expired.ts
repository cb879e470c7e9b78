import type { Handle } from './database/database.js';
import { reportTo } from './database/faults.js';
import { failpoint } from './failpoints.js';
import { Periodic } from './periodic.js';
import {
  lowestIdBefore,
  removeExpiredEvents,
  removeExpiredRows,
  restAfterBatch,
  TABLES_WITH_EXPIRY,
} from './retention.js';
import type { Log } from './telemetry/log.js';

/** Between two runs, ms. */
const INTERVAL = 600_000;
/** Events of one statement: it holds its locks for some ten milliseconds, and a longer one costs more an event. */
export const BATCH = 200;
/** Rows of each other table that one statement removes. */
const ROWS = 1_000;
/** Longest rest after a batch, ms. */
const LONGEST_REST = 50;

export interface RemoveExpiredOptions {
  db: Handle;
  workers: { isFirst: boolean };
  /** RETENTION, ms */
  retention: number;
  log: Log;
}

/**
 * Removes rows older than the retention, in small batches. The first of the live workers does it. A rest as long as the
 * batch follows each, but a short one where a loaded database makes the batch long, so that removal keeps up with 1,000
 * changes a second.
 */
export function removeExpired({ db, workers, retention, log }: RemoveExpiredOptions): Periodic {
  const loop = new Periodic({
    interval: INTERVAL,
    isDue: async () => workers.isFirst,
    async run() {
      const before = await lowestIdBefore(db, retention);
      const removed = { events: 0, idempotency_keys: 0 };
      let after: string | null = null;
      let eventsLeft = true;
      let tables = TABLES_WITH_EXPIRY;
      while ((eventsLeft || tables.length > 0) && !loop.stopped) {
        const since = performance.now();
        if (eventsLeft) {
          const batch = await removeExpiredEvents(db, { before, after, limit: BATCH });
          failpoint('after-removed');
          removed.events += batch.removed;
          ({ after } = batch);
          eventsLeft = after !== null;
        }
        // A table is read again in this run only if it may have more. Otherwise these reads take longer than the
        // removal of events.
        const full: (typeof tables)[number][] = [];
        for (const table of tables) {
          const count = await removeExpiredRows(db, table, retention, ROWS);
          if (table === 'idempotency_keys') removed.idempotency_keys += count;
          if (count === ROWS) full.push(table);
        }
        tables = full;
        await restAfterBatch(since, LONGEST_REST);
      }
      if (removed.events + removed.idempotency_keys > 0) log.info(removed, 'removed rows older than the retention');
    },
    onFault: reportTo(log, 'removing rows older than the retention failed; next try in ten minutes'),
  });
  return loop;
}
