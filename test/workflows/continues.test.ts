import { NativeConnection } from '@temporalio/worker';
import { newId } from '../../src/platform/ids.js';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState } from '../../workflows/search-attributes.js';
import { delivery, workflowWorker } from '../support/run-workflow.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

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

test('an event continues as a new run when its history is long, and is woken there', async () => {
  // Temporal suggests a new run at 4 MB or 4,096 events: a few long outcomes are as good as a thousand manual retries.
  const asleep = delivery({ attemptCount: 3, lastOutcome: '503', wait: 86_400_000 });
  asleep.nextAttemptAt = new Date(Date.now() + 86_400_000).toISOString();
  let row: DeliveryProgress = { ...asleep, lastOutcome: 'x'.repeat(500_000) };
  let reads = 0;
  const { worker, taskQueue } = await workflowWorker(
    { nativeConnection: connection },
    {
      readDeliveries: async () => {
        reads++;
        return [row];
      },
    },
    temporal.namespace,
  );
  const { workflow } = temporal.client;
  const [workflowId, clientId] = [newId(), newId()];
  const attributes = [
    { key: ClientId, value: clientId },
    { key: DeliveryState, value: 'exhausted' },
  ];
  const result = await worker.runUntil(async () => {
    const { firstExecutionRunId: first } = await workflow.start('deliverEvent', {
      ...{ taskQueue, workflowId, typedSearchAttributes: attributes },
      args: [{ eventId: workflowId, clientId, title: 't', deliveries: [asleep] }],
    });
    const handle = workflow.getHandle(workflowId);
    const wake = async () => {
      const before = reads;
      await handle.signal('wake');
      await waitFor('the read', () => reads > before);
    };
    const described = () => handle.describe();
    await waitFor('a new run', async () => {
      await wake();
      return reads > 20 || (await described()).runId !== first;
    });
    const next = await described();
    expect(next.runId).not.toBe(first);
    expect(next.historyLength).toBeLessThan(30);
    expect(next.typedSearchAttributes.get(ClientId)).toBe(clientId);
    expect(next.typedSearchAttributes.get(DeliveryState)).toBe('retrying');
    row = { ...asleep, status: 'succeeded', attemptCount: 4, lastOutcome: '204', nextAttemptAt: null, wait: null };
    await wake();
    return handle.result();
  });
  expect(result).toEqual([row]);
}, 60_000);
