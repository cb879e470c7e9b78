import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { freePort } from '../../src/platform/free-port.js';
import { judgeChanges } from '../crash/judge-changes.js';
import { judgeRecord } from '../crash/judge-record.js';
import { judgeWorkflows, runningWorkflows } from '../crash/judge-workflows.js';
import { type Load, startLoad } from '../crash/load.js';
import { type Receiver, startReceiver } from '../crash/receiver.js';
import { inProgress, readRecord } from '../crash/record.js';
import { type Balancer, startBalancer } from '../support/balancer.js';
import { caller, must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeItLongAgo } from '../support/long-ago.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Two APIs behind a load balancer and two workers under load. Every request must get a response.

/** `npm run test:production` sets more rounds, on an idle machine, and waits for leases to expire. */
const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? 1);
const RATE = Number(process.env.ROLLING_RATE ?? 10);
const PATIENT = process.env.ROLLING_ROUNDS !== undefined;

interface Instance {
  role: 'api' | 'worker';
  env: Record<string, string>;
  /** Its /readyz. */
  readyz: string;
  running: RoleProcess;
}

let database: TestDatabase;
let temporal: TestTemporal;
let receiver: Receiver;
let balancer: Balancer;
let instances: Instance[];
let load: Load;

beforeAll(async () => {
  [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  receiver = await startReceiver(SECRET, () => ({ slowly: 100 }));
  const [apiA = 0, apiB = 0, workerA = 0, workerB = 0] = await Promise.all(Array.from({ length: 4 }, freePort));
  balancer = await startBalancer([apiA, apiB]);
  const env = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', BASE_URL: balancer.url, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', RATE_LIMIT: '1000000', SHUTDOWN_DELAY: '2s' },
  };
  // A test database keeps no record of its migrations, and /readyz asks for it.
  await database.pool.query('drop schema public cascade; create schema public');
  expect(await runCli(['migrate'], env)).toMatchObject({ code: 0 });
  const start = (role: Instance['role'], setting: 'PORT' | 'METRICS_PORT', port: number): Instance => {
    const own = { ...env, [setting]: String(port) };
    return { role, env: own, readyz: `http://127.0.0.1:${port}/readyz`, running: startRole(role, own) };
  };
  instances = [
    start('api', 'PORT', apiA),
    start('api', 'PORT', apiB),
    start('worker', 'METRICS_PORT', workerA),
    start('worker', 'METRICS_PORT', workerB),
  ];
  const { stdout } = await runCli(['clients', 'create', '--json', '--name', 'test'], env);
  await Promise.all(instances.map(untilReady));
  await waitFor('the balancer to see both', () => balancer.ready() === 2);
  const client = await caller({ auth_url: balancer.url, base_url: balancer.url }, JSON.parse(stdout));
  await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/in`, secret: SECRET }));
  load = startLoad([client], Math.random, RATE);
}, 120_000);

afterAll(async () => {
  await load?.stop();
  await Promise.all(instances?.map(({ running }) => running.stop()) ?? []);
  await balancer?.close();
  await receiver?.close();
  await temporal?.close();
  await database?.drop();
}, 60_000);

async function untilReady({ readyz, running }: Instance): Promise<void> {
  await running.ready;
  await waitFor('to be ready', async () => (await fetch(readyz).catch(() => undefined))?.ok);
}

async function startAgain(instance: Instance): Promise<void> {
  instance.running = startRole(instance.role, instance.env);
  await untilReady(instance);
}

const untilAsked = (count: number) => waitFor(`${count} changes asked for`, () => load.asked.length >= count, 60_000);

async function withDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: database.url.reveal() });
  await client.connect();
  return work(client).finally(() => client.end());
}

test('a rolling restart of all four under load: each exits with code 0, and every request is served', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    for (const instance of instances) {
      await untilAsked(load.asked.length + 10);
      await instance.running.stop();
      expect(instance.running.process.exitCode).toBe(0);
      await startAgain(instance);
      await waitFor('the balancer to see both', () => balancer.ready() === 2);
    }
  }
  await untilAsked(load.asked.length + 10);
  await load.stop();
  expect(balancer.failures).toEqual([]);
  const { 503: _, ...answers } = load.answers;
  expect(Object.keys(answers).sort()).toEqual(['200', '201']);
  // A process that waited 3.75 s for Postgres returns 503, which is no fault on a busy machine.
  if (PATIENT && Object.keys(balancer.unavailable).length > 0) {
    throw new Error(`503: ${JSON.stringify(balancer.unavailable)}`);
  }
}, 600_000);

test('no event is lost once all is quiet, and the record is true', async () => {
  const since = Date.now();
  if (!PATIENT) await makeItLongAgo(database, temporal.client);
  await waitFor(
    'quiet',
    async () => {
      const { outbox, pending, queued } = await withDatabase(inProgress);
      return outbox + pending + queued + (await runningWorkflows(temporal.client)) === 0;
    },
    120_000,
  );
  const record = await withDatabase(readRecord);
  const { faults, duplicates } = judgeRecord(record, receiver.arrivals, 7);
  const changes = judgeChanges(load, record);
  expect([...faults, ...changes.faults, ...(await judgeWorkflows(temporal.client, record, 7))]).toEqual([]);
  process.stderr.write(
    `rolling: ${JSON.stringify(load.answers)}, ${changes.acknowledged} changes acknowledged, ${duplicates} delivered twice, quiet after ${Date.now() - since} ms\n`,
  );
}, 180_000);
