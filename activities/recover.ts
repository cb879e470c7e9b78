import type { Client } from '@temporalio/client';
import type { Handle } from '../src/database/database.js';
import { failpoint } from '../src/failpoints.js';
import { readRecoveredStarts } from '../src/outbox/read-starts.js';
import { startDeliverEvent } from '../src/temporal/start-deliver-event.js';
import { putBack } from '../src/webhooks/recover.js';
import type { RecoverActivities } from '../workflows/recover-endpoint.js';

/** A batch a second: beside them the fresh events of everybody go on. */
const BATCH = 20;

export interface RecoverDependencies {
  database: Handle;
  temporal: () => { client: Client } | undefined;
  retryDelays: readonly number[];
}

export function createRecoverActivities(dependencies: RecoverDependencies): RecoverActivities {
  const { database, temporal, retryDelays } = dependencies;
  return {
    async recoverBatch({ clientId, webhookId, since, until, after }) {
      const connected = temporal();
      if (!connected) throw new Error('Temporal is away');
      const ids = await putBack(database, { clientId, endpointId: webhookId, since, until }, after, BATCH);
      failpoint('after-put-back');
      for (const start of await readRecoveredStarts(database, ids, retryDelays)) {
        await startDeliverEvent(connected.client, start, { eager: false, reuse: 'restart' });
      }
      return { recovered: ids.length, after: ids.length < BATCH ? null : (ids.at(-1) ?? null) };
    },
  };
}
