import { setTimeout as sleep } from 'node:timers/promises';
import { countRunning, endRecover, keepRecovering } from '../src/delivery/recovers.js';
import {
  deliverMissing,
  type MissingBatch,
  type RecoverScope,
  resetForRecovery,
  roomInLateLine,
  untilAppended,
} from '../src/delivery/recovery-batches.js';
import type { Handle } from '../src/platform/database/database.js';
import { failpoint } from '../src/platform/failpoints.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import type { RecoverActivities, RecoverBatchRequest, RecoveredBatch } from '../workflows/recover-endpoint.js';

/**
 * Deliveries a second over all recovers of one client, so that fresh events of all clients continue to be delivered.
 */
const BATCH = 20;
/** How long one activity waits for room in the queue, or looks for missing events, ms: well below its time limit. */
const TURN = 10_000;
const LOOK = 250;

export interface RecoverDependencies {
  database: Handle;
  retryDelays: readonly number[];
  metrics: Pick<Metrics, 'missingDelivered'>;
  /** Called after attempts were queued. */
  onQueued: () => void;
}

export function createRecoverActivities(dependencies: RecoverDependencies): RecoverActivities {
  const { database, retryDelays, metrics, onQueued } = dependencies;

  const begin = async ({ recoverId, clientId }: RecoverBatchRequest): Promise<number> => {
    await keepRecovering(database, recoverId);
    return Math.floor(BATCH / (await countRunning(database, clientId)));
  };
  const end = async (request: RecoverBatchRequest, batch: RecoveredBatch): Promise<RecoveredBatch> => {
    if (batch.recovered > 0) onQueued();
    if (batch.after === null && request.endsRecover) await endRecover(database, request.recoverId);
    return batch;
  };

  return {
    async recoverBatch(request) {
      const limit = await begin(request);
      const { after } = request;
      const scope = scopeOf(request);
      const ids = await untilRoom(() => resetForRecovery(database, scope, retryDelays, after, limit));
      failpoint('after-requeued');
      // A line without room is no end: the next batch looks again, from the same delivery on.
      if (!ids) return { recovered: 0, after: after ?? LOWEST };
      const last = ids.at(-1) ?? null;
      return end(request, { recovered: ids.length, after: last });
    },

    async deliverMissingBatch(request) {
      const limit = await begin(request);
      const { after } = request;
      if (after === null) await untilAppended(database);
      const scope = scopeOf(request);
      const until = performance.now() + TURN;
      let batch: MissingBatch | undefined;
      do {
        const from: string | null = batch?.after ?? after;
        batch = await untilRoom(async () => {
          const room = await roomInLateLine(database, scope.endpointId, limit);
          return room === 0 ? undefined : deliverMissing(database, scope, retryDelays, from, room);
        });
        if (!batch) return { recovered: 0, after: from ?? LOWEST };
      } while (batch.made === 0 && batch.after !== null && performance.now() < until);
      failpoint('after-missing-made');
      metrics.missingDelivered(batch.made);
      return end(request, { recovered: batch.made, after: batch.after });
    },
  };
}

/** Below every id. */
const LOWEST = '00000000-0000-0000-0000-000000000000';

function scopeOf({
  clientId,
  webhookId,
  since,
  until,
}: Omit<RecoverBatchRequest, 'recoverId' | 'after'>): RecoverScope {
  return { clientId, endpointId: webhookId, since, until };
}

/** Calls `queue` until it has found room. @returns undefined if it found none within 10 s */
async function untilRoom<T>(queue: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const until = performance.now() + TURN; ; await sleep(LOOK)) {
    const result = await queue();
    if (result !== undefined || performance.now() > until) return result;
  }
}
