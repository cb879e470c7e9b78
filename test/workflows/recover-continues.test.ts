import { activityInfo } from '@temporalio/activity';
import { NativeConnection } from '@temporalio/worker';
import { newId } from '../../src/platform/ids.js';
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

test('a recover continues as a new run after a number of batches, with its total, its place and its client', async () => {
  const asked: (string | null)[] = [];
  const runs = new Set<string>();
  const ask = (after: string | null) => {
    runs.add(activityInfo().workflowExecution?.runId ?? '');
    return asked.push(after);
  };
  const { worker, taskQueue } = await workflowWorker(
    { nativeConnection: connection },
    {
      async recoverBatch({ after }: { after: string | null }) {
        const batch = ask(after);
        return { recovered: 2, after: batch < 3 ? `d${batch}` : null };
      },
      async deliverMissingBatch({ after }: { after: string | null }) {
        const batch = ask(after);
        return { recovered: 1, after: batch < 5 ? `e${batch}` : null };
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
      args: [{ ...input, recoverId: newId(), includeMissing: true, missing: 2, batchesPerRun: 2 }],
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: WebhookIds, value: [input.webhookId] },
      ],
    }),
  );
  expect(recovered).toBe(3 * 2 + 2 * 1);
  expect(asked).toEqual([null, 'd1', 'd2', null, 'e4']);
  expect(runs.size).toBe(3);
  const description = await workflow.getHandle(workflowId).describe();
  expect(description.typedSearchAttributes.get(ClientId)).toBe(clientId);
  expect(description.typedSearchAttributes.get(WebhookIds)).toEqual([input.webhookId]);
});
