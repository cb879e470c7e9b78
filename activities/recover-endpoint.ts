import { setTimeout as sleep } from 'node:timers/promises';
import { untilAppended } from '../src/delivery/committed-until.js';
import type { QueuedAt } from '../src/delivery/handover.js';
import { countRunning } from '../src/delivery/recoveries.js';
import { endRecovery, queueNext, recoveryOf } from '../src/delivery/recovery-progress.js';
import { keepStarted } from '../src/delivery/workflow-starts.js';
import type { Handle } from '../src/platform/database/database.js';
import { failpoint } from '../src/platform/failpoints.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import type { RecoveryActivities, RecoveryPosition } from '../workflows/recover-endpoint.js';

/**
 * Deliveries a second over all recoveries of one client, so that fresh events of all clients continue to be delivered.
 */
const BATCH = 20;
/** How long one activity waits for room in the queue, or looks for missing events, ms: well below its time limit. */
const PATIENCE = 10_000;
const PAUSE = 250;

/**
 * Creates the activities of the workflow `recoverEndpoint`.
 * @param onQueued called after attempts of an endpoint were queued
 */
export function createRecoveryActivities(
  database: Handle,
  retryDelays: readonly number[],
  metrics: Pick<Metrics, 'missingDelivered'>,
  onQueued: (at: QueuedAt) => void,
): RecoveryActivities {
  return {
    async recoverBatch({ workflowId, clientId, webhookId: endpointId, since, until, includeMissing, from }) {
      await keepStarted(database, workflowId);
      const recoveryId = recoveryOf(workflowId);
      const { phase } = from;
      const isMissing = phase === 'missing';
      const limit = Math.floor(BATCH / (await countRunning(database, clientId)));
      if (isMissing && from.after === null) await untilAppended(database);
      const deadline = performance.now() + PATIENCE;
      let { after } = from;
      let recovered = 0;
      let maxConcurrency: number | null = null;
      // A batch without a missing event, and a line without room, are no end.
      do {
        const part = { clientId, endpointId, since, until, after, limit, retryDelays };
        const queued = await queueNext(database, recoveryId, phase, part);
        if (queued === undefined) {
          await endRecovery(database, recoveryId);
          return { recovered: 0, next: null };
        }
        ({ recovered, after, maxConcurrency } = queued);
        if (recovered === 0 && after !== null) await sleep(PAUSE);
      } while (recovered === 0 && after !== null && performance.now() < deadline);
      failpoint(isMissing ? 'after-missing-made' : 'after-requeued');
      if (isMissing) metrics.missingDelivered(recovered);
      if (recovered > 0) onQueued({ clientId, endpointId, maxConcurrency });
      const next = nextOf({ phase, after }, includeMissing);
      if (next === null) await endRecovery(database, recoveryId);
      return { recovered, next };
    },
  };
}

/** @param reached `after` null: the phase has ended */
function nextOf(reached: RecoveryPosition, includeMissing: boolean): RecoveryPosition | null {
  if (reached.after !== null) return reached;
  if (reached.phase === 'pending') return { phase: 'ended', after: null };
  return reached.phase === 'ended' && includeMissing ? { phase: 'missing', after: null } : null;
}
