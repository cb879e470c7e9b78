import type { Client } from '@temporalio/client';
import type { Handle } from '../src/database/database.js';
import { failpoint } from '../src/failpoints.js';
import { resetForRecovery } from '../src/webhooks/recover.js';
import { countRunning, endRecover } from '../src/webhooks/recovers.js';
import { readRecoveredStarts } from '../src/workflow-starts/read-starts.js';
import { startDeliverEvent } from '../src/workflow-starts/start-deliver-event.js';
import type { RecoverActivities } from '../workflows/recover-endpoint.js';

/**
 * Deliveries a second over all recovers of one client, so that fresh events of all clients continue to be delivered.
 */
const BATCH = 20;

export interface RecoverDependencies {
  database: Handle;
  temporal: () => { client: Client } | undefined;
  retryDelays: readonly number[];
}

export function createRecoverActivities(dependencies: RecoverDependencies): RecoverActivities {
  const { database, temporal, retryDelays } = dependencies;
  return {
    async recoverBatch({ recoverId, clientId, webhookId, since, until, after }) {
      const connected = temporal();
      if (!connected) throw new Error('Temporal is away');
      const limit = Math.floor(BATCH / (await countRunning(database, clientId)));
      const scope = { clientId, endpointId: webhookId, since, until };
      const ids = await resetForRecovery(database, scope, retryDelays, after, limit);
      failpoint('after-put-back');
      for (const start of await readRecoveredStarts(database, ids, retryDelays)) {
        await startDeliverEvent(connected.client, start, { eager: false, reuse: 'restart' });
      }
      const isLast = ids.length < limit;
      if (isLast && recoverId !== undefined) await endRecover(database, recoverId);
      return { recovered: ids.length, after: isLast ? null : (ids.at(-1) ?? null) };
    },
  };
}
