import { activityInfo } from '@temporalio/activity';
import { NativeConnection } from '@temporalio/worker';
import { newId } from '../../src/platform/ids.js';
import type { RecoverBatchRequest, RecoveredBatch } from '../../workflows/recover-endpoint.js';
import { ClientId, WebhookIds } from '../../workflows/search-attributes.js';
import { workflowWorker } from '../support/run-workflow.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';

// On a real server: the time-skipping one drops what operators filter by of a run that continues as new.

let temporal: TestTemporal;
let connection: NativeConnection;
beforeAll(async () => {
  temporal = await createTestNamespace();
  connection = await NativeConnection.connect({ address: temporal.address });
});
afterAll(async () => {
  await connection?.close();
  await temporal?.close();
});

test('a recovery continues as a new run after a number of batches, with its total, its place and its client', async () => {
  const asked: (string | null)[] = [];
  const runs = new Set<string>();
  const { worker, taskQueue } = await workflowWorker(
    { nativeConnection: connection },
    {
      async recoverBatch({ from: { after } }: RecoverBatchRequest): Promise<RecoveredBatch> {
        runs.add(activityInfo().workflowExecution?.runId ?? '');
        const batch = asked.push(after);
        return { recovered: 2, next: batch < 5 ? { phase: 'ended', after: `d${batch}` } : null };
      },
    },
    temporal.namespace,
  );
  const { workflow } = temporal.client;
  const clientId = newId();
  const input = { clientId, webhookId: newId(), host: 'hooks.example.com', since: 0, until: 1, count: 6 };
  const workflowId = newId();
  const recovered = await worker.runUntil(
    workflow.execute('recoverEndpoint', {
      taskQueue,
      workflowId,
      args: [{ ...input, includeMissing: true, missing: 2, batchesPerRun: 2 }],
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: WebhookIds, value: [input.webhookId] },
      ],
    }),
  );
  expect(recovered).toBe(5 * 2);
  expect(asked).toEqual([null, 'd1', 'd2', 'd3', 'd4']);
  expect(runs.size).toBe(3);
  const description = await workflow.getHandle(workflowId).describe();
  expect(description.typedSearchAttributes.get(ClientId)).toBe(clientId);
  expect(description.typedSearchAttributes.get(WebhookIds)).toEqual([input.webhookId]);
});
