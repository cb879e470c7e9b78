import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { MASTER_KEY, makeClient, makeEndpoint } from '../support/factories.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

/** A check without cases and without a row in Postgres. */
const SHORTEST_CHECK = { checkId: newId(), receiver: 'receiver.test', cases: [] };

/** An event without a delivery. */
const NOTHING = { eventId: newId(), clientId: newId(), title: 't', deliveries: [] };

/** The worker's read of waiting work, if it was the last statement of a connection. */
const LOOKS = `
select from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and query like '%"sandboxUsed"%'`;

let database: TestDatabase;
let temporal: TestTemporal;
beforeAll(async () => {
  [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await database.drop();
});

async function pollersOf(taskQueue: string): Promise<number> {
  const { namespace, client } = temporal;
  const described = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: 1,
  });
  return described.pollers?.length ?? 0;
}

/** Runs a worker until it has completed a workflow, and then `work`. */
async function withWorker<T>(environment: 'sandbox' | 'production', work: () => Promise<T>): Promise<T> {
  const worker: RoleProcess = startRole('worker', {
    ...{ ENVIRONMENT: environment, BASE_URL: 'https://api.test', TRUSTED_PROXIES: 'none', LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
  });
  try {
    await worker.ready;
    await temporal.client.workflow.execute('deliverEvent', {
      taskQueue: TASK_QUEUE,
      workflowId: newId(),
      args: [NOTHING],
    });
    return await work();
  } finally {
    await worker.stop();
  }
}

describe('the task queue of the sandbox', () => {
  // The first tests find no worker: Temporal may list a poller for some time after its end.
  it('has no worker in production', async () => {
    expect(await withWorker('production', () => pollersOf(SANDBOX_TASK_QUEUE))).toBe(0);
  });

  it('has no worker in a sandbox without a simulated transfer or a check, one from the first on, and after a restart', async () => {
    const afterLook = async () => {
      await waitFor('a look at the tables', async () => {
        const last = await database.query(LOOKS, []);
        return last.length > 0;
      });
      // One more round trip through the worker, which would have connected for the queue meanwhile.
      await temporal.client.workflow.execute('deliverEvent', {
        taskQueue: TASK_QUEUE,
        workflowId: newId(),
        args: [NOTHING],
      });
      return pollersOf(SANDBOX_TASK_QUEUE);
    };
    const polled = () => waitFor('a poller', async () => (await pollersOf(SANDBOX_TASK_QUEUE)) || undefined);
    const afterCheck = async () => {
      const clientId = await makeClient(database);
      const { id: endpointId } = await makeEndpoint(database, clientId);
      await database.prisma.receiverCheck.create({ data: { id: newId(), clientId, endpointId } });
      return polled();
    };
    expect(await withWorker('sandbox', async () => [await afterLook(), await afterCheck()])).toEqual([0, 1]);
    await database.query('update receiver_checks set finished_at = now()', []);
    // A worker that ended stays in Temporal's list, so the new one is known by the workflow that it completes.
    const check = { taskQueue: SANDBOX_TASK_QUEUE, workflowId: newId(), args: [SHORTEST_CHECK] };
    await withWorker('sandbox', () => temporal.client.workflow.execute('checkReceiver', check));
  });
});
