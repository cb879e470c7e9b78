import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import { freePort } from '../../src/platform/free-port.js';
import { newId } from '../../src/platform/ids.js';
import { removeExpiredEvents, removeExpiredRows, TABLES_WITH_EXPIRY } from '../../src/platform/retention.js';
import { type Receiver, startReceiver } from '../crash/receiver.js';
import { accepted, type Caller, caller, must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { createOwnedDatabase, type OwnedDatabase } from '../support/runtime-role.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The database as a deployment with all roles makes it: `migrate` runs as the owner of the tables, the API and the
// worker each with its own role, and commands with the runtime role.

let database: OwnedDatabase;
let temporal: TestTemporal;
let receiver: Receiver;
let env: Record<string, string>;
let client: Caller;
let clientId: string;
let webhookId: string;
const processes: RoleProcess[] = [];
let status = 204;

/** Runs a command as the runtime role. It must succeed. */
async function cli(...args: string[]) {
  const result = await runCommand([...args, '--json'], env);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(result.stdout);
}

beforeAll(async () => {
  [database, temporal] = await Promise.all([createOwnedDatabase(), createTestNamespace()]);
  receiver = await startReceiver(SECRET, () => status);
  const [port, metricsPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  env = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: baseUrl, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.runtimeUrl.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{
      ALLOW_PRIVATE_RECEIVERS: 'true',
      RATE_LIMIT: '1000000',
      SANDBOX_STEP: '100ms',
      DELIVERY_RETRY_DELAYS: '0s,1h',
      SHUTDOWN_DELAY: '0s',
    },
  };
  const asOwner = {
    DATABASE_URL: database.ownerUrl.reveal(),
    DATABASE_RUNTIME_ROLE: database.roles.runtime,
    DATABASE_API_ROLE: database.roles.api,
    DATABASE_WORKER_ROLE: database.roles.worker,
  };
  expect(await runCommand(['migrate'], { ...env, ...asOwner })).toMatchObject({ code: 0 });
  const asWorker = { METRICS_PORT: String(metricsPort), DATABASE_URL: database.urls.worker.reveal() };
  const worker = startRole('worker', { ...env, ...asWorker });
  const api = startRole('api', { ...env, DATABASE_URL: database.urls.api.reveal() });
  processes.push(worker, api);
  await api.ready;
  const credentials = await cli('clients', 'create', '--name', 'Acme');
  clientId = credentials.client_id;
  client = await caller({ auth_url: baseUrl, base_url: baseUrl }, credentials);
  ({ webhookId } = await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/in`, secret: SECRET })));
  await waitFor('the worker to be ready', async () =>
    fetch(`http://127.0.0.1:${metricsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
});

afterAll(async () => {
  await Promise.all(processes.map((role) => role.stop()));
  await receiver?.close();
  await temporal?.close();
  await database?.drop();
});

/** Makes a change of a new transfer. @returns its delivery when it has the status */
async function change(expected: string) {
  const { id } = await must(client('POST', '/transfers', transferRequest(), { 'idempotency-key': newId() }));
  await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  return waitFor(`a delivery that is ${expected}`, async () => {
    const { data } = await must(client('GET', `/webhook-endpoints/${webhookId}/deliveries?status=${expected}`));
    const { data: events } = await must(client('GET', `/events?transfer_id=${id}`));
    return data.find((delivery: { event_id: string }) => delivery.event_id === events[0]?.id);
  });
}

test('delivers a change, and again after a manual retry', async () => {
  const { id } = await change('succeeded');
  await must(client('POST', `/deliveries/${id}/retry`));
  await waitFor('the second attempt', async () => (await must(client('GET', `/deliveries/${id}`))).attempt_count === 2);
  await cli('deliveries', 'retry', id);
  await waitFor('the third attempt', async () => (await must(client('GET', `/deliveries/${id}`))).attempt_count === 3);
});

test('retries and fails deliveries, then recovers them with the missed events', async () => {
  const since = new Date(Date.now() - 60_000).toISOString();
  status = 500;
  await change('pending');
  await cli('endpoints', 'disable', webhookId, '--yes');
  status = 204;
  const { id } = await must(client('POST', '/transfers', transferRequest()));
  await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  await cli('endpoints', 'enable', webhookId);
  const recovered = await must(
    client('POST', `/webhook-endpoints/${webhookId}/recover`, { since, include_missing: true }),
  );
  expect(recovered).toMatchObject({ count: 1, missing: 1 });
  const listed = (status: string) =>
    must(client('GET', `/webhook-endpoints/${webhookId}/deliveries?status=${status}`)).then(({ data }) => data.length);
  await waitFor('the recovered deliveries', async () => (await listed('succeeded')) === 3);
  const statement = await must(client('GET', `/webhook-endpoints/${webhookId}/statement?since=${since}`));
  expect(statement).toMatchObject({ succeeded: 3, complete: true });
});

test('moves a sandbox transfer, and checks a receiver', async () => {
  const destination = { name: 'Ada Lovelace', account: 'SANDBOX-COMPLETE' };
  const { id } = await must(client('POST', '/transfers', transferRequest({ destination })));
  await waitFor('COMPLETED', async () => (await must(client('GET', `/transfers/${id}`))).status === 'COMPLETED');
  // The API may not have seen yet that Temporal responds.
  const { id: check } = await accepted(() => client('POST', `/webhook-endpoints/${webhookId}/checks`));
  await waitFor('the check to end', async () => {
    const { finished_at } = await must(client('GET', `/webhook-endpoints/${webhookId}/checks/${check}`));
    return finished_at !== null;
  });
});

test('runs the commands of the operator, which leave audit entries', async () => {
  await cli('clients', 'rotate-secret', clientId);
  await cli('clients', 'allow', clientId, '127.0.0.0/8');
  await cli('clients', 'console-link', clientId);
  await cli('keys', 'rotate');
  await cli('keys', 'rotate-master');
  const { checks } = await cli('doctor');
  expect(checks).toContainEqual(expect.objectContaining({ check: 'migrations', ok: true }));
  const entries = JSON.stringify(await cli('audit', 'list'));
  for (const action of ['clients.create', 'clients.allow', 'keys.rotate', 'deliveries.retry', 'endpoints.disable']) {
    expect(entries).toContain(action);
  }
});

test('removes what has expired', async () => {
  const connected = openDatabase({ url: database.urls.worker, poolSize: 2 });
  try {
    const { removed } = await removeExpiredEvents(connected, { before: newId(), after: null, limit: 100 });
    expect(removed).toBeGreaterThan(0);
    for (const table of TABLES_WITH_EXPIRY) await removeExpiredRows(connected, table, 0, 100);
  } finally {
    await connected.close();
  }
});

test('Postgres refused nothing to the API and to the worker', () => {
  expect(processes.flatMap(({ said }) => said).filter((line) => /permission denied|42501/.test(line))).toEqual([]);
});
