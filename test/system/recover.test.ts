import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import type { TestDatabase } from '../support/database.js';
import { createDeployment, type Deployment } from '../support/deployment.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, on a real Temporal that the API cannot reach.

let deployment: Deployment;
let database: TestDatabase;
let receiver: RawReceiver;
/** The receiver responds from then on. */
let opened = Promise.resolve();
let api: RoleProcess;
let worker: RoleProcess | undefined;
let client: Caller;
let webhookId: string;

beforeAll(async () => {
  deployment = await createDeployment();
  database = deployment.database;
  receiver = await startRawReceiver((socket) => void opened.then(() => socket.write('HTTP/1.1 204 x\r\n\r\n')));
  api = startRole('api', { ...deployment.env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await api.ready;
  client = await deployment.createClient();
  ({ webhookId } = await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET })));
});
afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()]);
  await receiver?.close();
  await deployment?.close();
});

async function startWorker(): Promise<void> {
  worker = startRole('worker', deployment.env);
  await worker.ready;
}

/** Makes events whose deliveries were cancelled. */
async function cancelled(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { id } = await must(client('POST', '/transfers', transferRequest()));
    await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  }
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: false }));
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: true }));
}
const recover = async () => {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  return client('POST', `/webhook-endpoints/${webhookId}/recover`, { since });
};
const deliveriesOf = (status: 'pending' | 'succeeded' | 'cancelled') =>
  database.prisma.delivery.count({ where: { status } });
const ended = () => waitFor('the end of the recovery', async () => (await database.prisma.workflowStart.count()) === 0);

it('whose workflow is terminated after its first batch recovers the rest with a new workflow', async () => {
  const held = Promise.withResolvers<void>();
  opened = held.promise;
  await cancelled(60);
  expect((await recover()).body).toMatchObject({ count: 60, missing: 0 });
  await startWorker();
  await waitFor('the first batch', async () => (await deliveriesOf('cancelled')) < 60);
  const { workflowId } = await database.prisma.workflowStart.findFirstOrThrow({ where: { endpointId: webhookId } });
  await deployment.temporal.client.workflow.getHandle(workflowId).terminate('by an operator');
  // Ten attempts are in flight and twenty may wait for them.
  expect(await deliveriesOf('cancelled')).toBeGreaterThan(0);
  held.resolve();
  await database.query('update workflow_starts set start_after = now()', []);
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 60);
  await ended();
});

it('is accepted while Temporal is unavailable, and runs with the first worker, though its API was killed', async () => {
  await worker?.stop();
  const before = receiver.requests.length;
  await cancelled(5);
  const { status, body } = await recover();
  expect([status, body]).toMatchObject([202, { count: 5, missing: 0 }]);
  api.process.kill('SIGKILL');
  await api.ended;
  await startWorker();
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 65);
  await ended();
  expect(receiver.requests).toHaveLength(before + 5);
});
