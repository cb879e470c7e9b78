import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Handle } from '../src/database/database.js';
import { failpoint } from '../src/failpoints.js';
import { removeExpiredChecks } from '../src/retention/expired-checks.js';
import { removeExpiredConsole } from '../src/retention/expired-console.js';
import { firstKept, removeExpiredEvents } from '../src/retention/expired-events.js';
import { removeExpiredHours } from '../src/retention/expired-hours.js';
import { removeExpiredKeys } from '../src/retention/expired-keys.js';
import { removeExpiredLimits } from '../src/retention/expired-limits.js';
import { removeExpiredPeriods } from '../src/retention/expired-periods.js';
import { removeExpiredSandboxTransfers } from '../src/retention/expired-sandbox-transfers.js';
import type { Log } from '../src/telemetry/log.js';
import type { RemoveExpiredActivities } from '../workflows/remove-expired.js';

/** Events removed by one statement: it holds its locks for some ten milliseconds. */
const BATCH = 200;
/** Idempotency keys removed by one statement; as many rows of each other table but those of events. */
const KEYS = 1_000;
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
        const removedKeys = await removeExpiredKeys(database, KEYS);
        const removedLimits = await removeExpiredLimits(database, KEYS);
        const removedConsole = await removeExpiredConsole(database, KEYS);
        const removedHours = await removeExpiredHours(database, KEYS);
        const removedPeriods = await removeExpiredPeriods(database, retention, KEYS);
        const removedSandbox = await removeExpiredSandboxTransfers(database, KEYS);
        const removedChecks = await removeExpiredChecks(database, KEYS);
        removed += batch.removed;
        keys += removedKeys;
        after = batch.after ?? after;
        const others = [removedLimits, removedConsole, removedHours, removedPeriods, removedSandbox, removedChecks];
        more = batch.after !== null || [removedKeys, ...others].some((count) => count >= KEYS);
        heartbeat(removed);
        await sleep(Math.max(REST, performance.now() - since));
      }
      if (removed + keys > 0)
        log.info({ events: removed, idempotency_keys: keys }, 'removed rows older than the retention');
      return { removed, after: more ? after : null };
    },
  };
}
