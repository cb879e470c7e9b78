import type { Database } from '../../src/platform/database/database.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import { carryOutRecoveries } from '../../src/recoveries/carry-out.js';
import { silentLog } from './silent-log.js';
import { waitFor } from './wait-for.js';

/** Runs batches of the recoveries, as the first worker does each second, until `isDone`: by default, until all end. */
export async function carryOut(
  db: Database,
  isDone: () => Promise<unknown> = async () => (await db.prisma.recovery.count({ where: { finishedAt: null } })) === 0,
): Promise<void> {
  const loop = carryOutRecoveries({
    ...{ db, workers: { isFirst: true }, waiting: async () => ({ recoveries: true }), retryDelays: [0, 300_000] },
    ...{ metrics: createMetrics(), onQueued: () => {}, log: silentLog },
  });
  loop.start();
  const isOver = async () => {
    loop.request();
    return isDone();
  };
  await waitFor('the recoveries', isOver).finally(() => loop.stop());
}
