import type { Client } from '@temporalio/client';
import type { Handle } from '../src/database/database.js';
import { failpoint } from '../src/failpoints.js';
import type { Metrics } from '../src/telemetry/metrics.js';
import { deliverMissing, type MissingBatch, untilAppended } from '../src/webhooks/deliver-missing.js';
import { type RecoverScope, resetForRecovery } from '../src/webhooks/recover.js';
import { countRunning, endRecover } from '../src/webhooks/recovers.js';
import { readRecoveredStarts } from '../src/workflow-starts/read-starts.js';
import { startDeliverEvent } from '../src/workflow-starts/start-deliver-event.js';
import type { RecoverActivities, RecoverBatchRequest, RecoveredBatch } from '../workflows/recover-endpoint.js';

/**
 * Deliveries a second over all recovers of one client, so that fresh events of all clients continue to be delivered.
 */
const BATCH = 20;
/** How long one activity looks for missing events where it finds none, ms: well below its time limit. */
const TURN = 10_000;

export interface RecoverDependencies {
  database: Handle;
  temporal: () => { client: Client } | undefined;
  retryDelays: readonly number[];
  metrics: Pick<Metrics, 'missingDelivered'>;
}

/** A batch whose workflows are to be started. `after` null: the last batch. */
type Batch = Pick<MissingBatch, 'ids' | 'after'>;

export function createRecoverActivities(dependencies: RecoverDependencies): RecoverActivities {
  const { database, temporal, retryDelays, metrics } = dependencies;

  const carryOut = async (
    { recoverId, clientId, webhookId, since, until }: RecoverBatchRequest,
    next: (scope: RecoverScope, limit: number) => Promise<Batch>,
  ): Promise<RecoveredBatch> => {
    const connected = temporal();
    if (!connected) throw new Error('Temporal is away');
    const limit = Math.floor(BATCH / (await countRunning(database, clientId)));
    const { ids, after } = await next({ clientId, endpointId: webhookId, since, until }, limit);
    for (const start of await readRecoveredStarts(database, ids, retryDelays)) {
      await startDeliverEvent(connected.client, start, { eager: false, reuse: 'restart' });
    }
    if (after === null && recoverId !== undefined) await endRecover(database, recoverId);
    return { recovered: ids.length, after };
  };

  return {
    recoverBatch: (request) =>
      carryOut(request, async (scope, limit) => {
        const ids = await resetForRecovery(database, scope, retryDelays, request.after, limit);
        failpoint('after-put-back');
        return { ids, after: ids.length < limit ? null : (ids.at(-1) ?? null) };
      }),

    deliverMissingBatch: (request) =>
      carryOut(request, async (scope, limit) => {
        if (request.after === null) await untilAppended(database);
        const until = performance.now() + TURN;
        let batch: MissingBatch;
        let { after } = request;
        do {
          batch = await deliverMissing(database, scope, retryDelays, after, limit);
          ({ after } = batch);
        } while (batch.ids.length === 0 && after !== null && performance.now() < until);
        failpoint('after-missing-made');
        metrics.missingDelivered(batch.made);
        return batch;
      }),
  };
}
