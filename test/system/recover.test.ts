import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { type Caller, caller, must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, on a real Temporal that the API cannot reach.

let database: TestDatabase;
let temporal: TestTemporal;
let receiver: RawReceiver;
let env: Record<string, string>;
let api: RoleProcess;
let worker: RoleProcess | undefined;
let client: Caller;
let webhookId: string;

beforeAll(async () => {
  [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  receiver = await startRawReceiver((socket) => socket.write('HTTP/1.1 204 x\r\n\r\n'));
  const port = await freePort();
  const at = { auth_url: `http://127.0.0.1:${port}`, base_url: `http://127.0.0.1:${port}` };
  env = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: at.base_url, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', SHUTDOWN_DELAY: '0s', RATE_LIMIT: '100000' },
  };
  const created = await runCli(['clients', 'create', '--json', '--name', 'test'], env);
  api = startRole('api', { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await api.ready;
  client = await caller(at, JSON.parse(created.stdout));
  ({ webhookId } = await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET })));
});
afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()]);
  await receiver?.close();
  await temporal?.close();
  await database?.drop();
});

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

it('is accepted while Temporal is unavailable, and runs with the first worker, though its API was killed', async () => {
  await cancelled(25);
  const { status, body } = await recover();
  expect([status, body]).toEqual([202, { count: 25, missing: 0 }]);
  api.process.kill('SIGKILL');
  await api.ended;
  worker = startRole('worker', env);
  await worker.ready;
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 25);
  await ended();
  expect(receiver.requests).toHaveLength(25);
});

it('whose workflow is terminated after its first batch recovers the rest with a new workflow', async () => {
  api = startRole('api', { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await api.ready;
  await worker?.stop();
  await cancelled(60);
  expect((await recover()).body).toEqual({ count: 60, missing: 0 });
  worker = startRole('worker', env);
  await worker.ready;
  const before = await waitFor('the first batch', async () => {
    const left = await deliveriesOf('cancelled');
    return left > 0 && left < 60;
  });
  expect(before).toBe(true);
  const { workflowId } = await database.prisma.workflowStart.findFirstOrThrow({ where: { endpointId: webhookId } });
  await temporal.client.workflow.getHandle(workflowId).terminate('by an operator');
  await database.query('update workflow_starts set start_after = now()', []);
  await waitFor('the deliveries', async () => (await deliveriesOf('succeeded')) === 85);
  await ended();
});
