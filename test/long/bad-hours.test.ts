import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { freePort } from '../../src/free-port.js';
import { readState } from '../../src/local/stack-state.js';
import { type ApiResponse, type Caller, caller, must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { readDelivered } from '../support/delivered.js';
import { freeze } from '../support/freeze.js';
import { makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { startNameServer } from '../support/name-server.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { type StackProcess, startStackProcess } from '../support/stack-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The view of clients and operators while a part of the platform fails, and the recovery afterwards without an operator.
// Drills that need a separate disk, or minutes, are in scripts/drills.

const SHIFT_CLOCK = ['--import', pathToFileURL('test/support/shift-clock.js').href];
const HOUR = 3_600_000;
/** The limit of a statement, ms. In production it is 20 s. */
const QUERY_TIMEOUT = 2_000;

const localDir = makeLocalDir();
let stack: StackProcess;
let admin: pg.Client;
let temporal: Connection;
let nameServer: Awaited<ReturnType<typeof startNameServer>>;
let env: Record<string, string>;
let credentials: { client_id: string; client_secret: string };
let at: { auth_url: string; base_url: string };
let api: RoleProcess;
let worker: RoleProcess;
let workerUrl: string;
let client: Caller;
let receiver: RawReceiver;
let failing: RawReceiver;
/** While it is pending, the receiver holds its responses. */
let held: Promise<void> | undefined;

beforeAll(async () => {
  [stack, nameServer] = await Promise.all([startStackProcess(localDir.path), startNameServer()]);
  receiver = await startRawReceiver(async (socket) => {
    await held;
    socket.write('HTTP/1.1 204 x\r\n\r\n');
  });
  failing = await startRawReceiver('HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n');
  expect(await runCli(['migrate'], stack.env)).toMatchObject({ code: 0 });
  admin = new pg.Client({ connectionString: stack.env.DATABASE_URL });
  await admin.connect();
  // As in production, the service is no superuser: Postgres makes exceptions for a superuser.
  await admin.query(`create role app login password 'app'; grant all on all tables in schema public to app`);
  const url = new URL(stack.env.DATABASE_URL as string);
  Object.assign(url, { username: 'app', password: 'app' });
  url.searchParams.set('query_timeout', String(QUERY_TIMEOUT));
  env = {
    ...{ ...stack.env, DATABASE_URL: url.href, TEMPORAL_NAMESPACE: 'bad-hours' },
    ...{ LOG_LEVEL: 'warn', RATE_LIMIT: '1000000', DELIVERY_RETRY_DELAYS: '0s,1h' },
  };
  at = { auth_url: env.AUTH_URL as string, base_url: env.BASE_URL as string };
  temporal = await Connection.connect({ address: env.TEMPORAL_ADDRESS as string });
  const metricsPort = await freePort();
  workerUrl = `http://127.0.0.1:${metricsPort}`;
  api = startRole('api', env, SHIFT_CLOCK);
  worker = startRole('worker', { ...env, ...nameServer.env, METRICS_PORT: String(metricsPort) }, SHIFT_CLOCK);
  const { stdout } = await runCli(['clients', 'create', '--json', '--name', 'bad hours'], env);
  credentials = JSON.parse(stdout);
  await Promise.all([api.ready, worker.ready]);
  client = await caller(at, credentials);
  await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
}, 120_000);

afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()]);
  await Promise.all([receiver?.close(), failing?.close(), admin?.end(), temporal?.close()]);
  nameServer?.close();
  await stack?.stop();
  await localDir.remove();
}, 60_000);

const change = (id: string, headers?: Record<string, string>, call = client): Promise<ApiResponse> =>
  call('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, headers);

async function newTransfer(): Promise<string> {
  const [id] = await makeTransfers(client, 1);
  return id as string;
}

const arrivals = (transferId: string): number =>
  receiver.requests.filter((raw) => readDelivered(raw, SECRET).transferId === transferId).length;

async function untilDelivered(transferId: string): Promise<void> {
  await waitFor(
    'the event to be delivered',
    async () => (await must(client('GET', `/events?transfer_id=${transferId}`))).data[0]?.deliveries.succeeded === 1,
    90_000,
  );
}

/** A worker has taken the workflow's tasks. In a new namespace it does so once its older polls have expired (60 s). */
async function untilWorkflowEnded(transferId: string): Promise<void> {
  const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
  const handle = new Client({ connection: temporal, namespace: 'bad-hours' }).workflow.getHandle(event.id);
  const ended = async () => (await handle.describe().catch(() => undefined))?.status.name === 'COMPLETED';
  await waitFor('its workflow to end', ended, 120_000);
}

/** Expects the response of a service whose dependency fails. */
function expectUnavailable({ status, headers, body }: ApiResponse): void {
  expect([status, body.code, headers.get('content-type')]).toEqual([
    503,
    'unavailable',
    expect.stringContaining('application/problem+json'),
  ]);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

async function readyz(url: string): Promise<{ status: number; checks: Record<string, string> }> {
  const response = await fetch(`${url}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, string> };
  return { status: response.status, checks };
}

const REFUSED = { status: 'CREATED', status_history: { length: 1 } };
const MADE = { status: 'PROCESSING', status_history: { length: 2 } };

/**
 * Expects that a failure leaves nothing half done: two requests are refused during it, the delivery in flight is recorded
 * once after it, and both requests succeed once when they are sent again.
 * @param afterwards the states that the transfer of the refused request may have
 */
async function expectNothingHalfDone(
  begin: () => Promise<unknown>,
  end: () => Promise<unknown>,
  afterwards = [REFUSED],
): Promise<void> {
  const inFlight = await newTransfer();
  const [bare, keyed] = [await newTransfer(), await newTransfer()];
  let release = () => {};
  held = new Promise((resolve) => {
    release = resolve;
  });
  await must(change(inFlight));
  await waitFor('the attempt to be in flight', () => arrivals(inFlight) === 1);
  await begin();
  try {
    expectUnavailable(await waitFor('a refusal', () => refusal(bare)));
    expectUnavailable(await change(keyed, { 'Idempotency-Key': keyed }));
    release();
    expectUnavailable(await client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
  } finally {
    held = undefined;
    release();
    await end();
  }
  const read = () => client('GET', `/transfers/${bare}`);
  const after = await waitFor('a response', () => read().then((response) => response.status === 200 && response));
  const {
    status,
    status_history: { length },
  } = after.body;
  expect(afterwards).toContainEqual({ status, status_history: { length } });
  // 409: the change was made in spite of the error.
  await waitFor('the change to be made', async () => [200, 409].includes((await change(bare)).status));
  await waitFor(
    'the change with its key',
    async () => (await change(keyed, { 'Idempotency-Key': keyed })).status === 200,
  );
  for (const id of [inFlight, bare, keyed]) await untilDelivered(id);
  expect([inFlight, bare, keyed].map(arrivals)).toEqual([1, 1, 1]);
  expect((await must(client('GET', '/webhook-endpoints'))).data).toHaveLength(1);
}

async function refusal(id: string): Promise<ApiResponse | false> {
  const response = await client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' });
  return response.status !== 200 && response;
}

test('a missing Temporal namespace stops retries only, is reported, and is fixed by migrate without a restart', async () => {
  const id = await newTransfer();
  await must(change(id));
  await waitFor('the first attempt', () => arrivals(id) === 1);
  expect(await readyz(at.base_url)).toMatchObject({ status: 200, checks: { temporal: 'no namespace bad-hours' } });
  expect(await readyz(workerUrl)).toMatchObject({ status: 200, checks: { temporal: 'no namespace bad-hours' } });
  expect(worker.said.join('\n')).toContain('Temporal has no namespace bad-hours; run transfer-service migrate');
  expect((await runCli(['doctor'], env)).stdout).toContain('there is no bad-hours; run transfer-service migrate');
  expect(await runCli(['migrate'], { ...stack.env, TEMPORAL_NAMESPACE: 'bad-hours' })).toMatchObject({
    code: 0,
  });
  await waitFor('the worker to be connected', async () => (await readyz(workerUrl)).checks.temporal === 'ok', 60_000);
  await untilDelivered(id);
  await untilWorkflowEnded(id);
}, 240_000);

test('a Temporal namespace that is deleted while the worker runs is fixed by migrate without a restart', async () => {
  await temporal.operatorService.deleteNamespace({ namespace: 'bad-hours' });
  const missing = async () => (await readyz(workerUrl)).checks.temporal === 'no namespace bad-hours';
  await waitFor('the missing namespace to be noticed', missing, 60_000);
  const id = await newTransfer();
  await must(change(id));
  await waitFor('the first attempt', () => arrivals(id) === 1);
  expect(await runCli(['migrate'], { ...stack.env, TEMPORAL_NAMESPACE: 'bad-hours' })).toMatchObject({ code: 0 });
  await waitFor('the worker to be connected', async () => (await readyz(workerUrl)).checks.temporal === 'ok', 60_000);
  await untilDelivered(id);
  await untilWorkflowEnded(id);
}, 240_000);

test('a read-only Postgres: changes are refused, and transfers can be read', async () => {
  const set = async (value: string) => {
    await admin.query('set default_transaction_read_only = off');
    await admin.query(`alter system set default_transaction_read_only = ${value}`);
    await admin.query('select pg_reload_conf()');
  };
  await expectNothingHalfDone(
    async () => {
      await set('on');
      expect((await client('GET', '/transfers')).status).toBe(200);
    },
    () => set('off'),
  );
}, 120_000);

test('no space left for Postgres: no change is half made', async () => {
  const full = ['transfers', 'events', 'attempts', 'webhook_endpoints', 'idempotency_keys', 'deliveries'];
  await admin.query(`create function no_space() returns trigger language plpgsql as
    $$ begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  const on = (text: (name: string) => string) => admin.query(full.map(text).join(';'));
  await expectNothingHalfDone(
    () => on((name) => `create trigger full_disk before insert on ${name} execute function no_space()`),
    () => on((name) => `drop trigger full_disk on ${name}`),
  );
}, 120_000);

test('no free connection to Postgres: no change is half made', async () => {
  await expectNothingHalfDone(
    async () => {
      await admin.query('alter role app connection limit 0');
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'`);
    },
    () => admin.query('alter role app connection limit -1'),
  );
}, 120_000);

test('Postgres hangs: requests fail within the statement limit, and the change that hung is made whole or not at all', async () => {
  const thaws: (() => void)[] = [];
  await expectNothingHalfDone(
    async () => thaws.push(freeze(readState(localDir.path)?.postgres?.pid ?? 0)),
    async () => {
      for (const thaw of thaws) thaw();
    },
    // Postgres executes a statement that it read before it hung, so both results are possible.
    [REFUSED, MADE],
  );
}, 120_000);

test('Temporal hangs: changes are accepted and first attempts are made, and a retry is refused within its limit', async () => {
  const { webhookId } = await must(client('POST', '/webhook-endpoints', { url: failing.url, secret: SECRET }));
  const [before, during] = [await newTransfer(), await newTransfer()];
  await must(change(before));
  const [event] = (await must(client('GET', `/events?transfer_id=${before}`))).data;
  const deliveries = (await must(client('GET', `/events/${event.id}/deliveries`))).data;
  const { id } = deliveries.find((delivery: { webhookId: string }) => delivery.webhookId === webhookId);
  await waitFor(
    'the delivery to sleep',
    async () => (await must(client('GET', `/deliveries/${id}`))).attempt_count === 2,
    60_000,
  );
  const thaw = freeze(readState(localDir.path)?.temporal?.pid ?? 0);
  try {
    await must(change(during));
    await waitFor('the first attempt', () => arrivals(during) === 1);
    expectUnavailable(await client('POST', `/deliveries/${id}/retry`));
  } finally {
    thaw();
  }
  await waitFor('the retry', async () => (await client('POST', `/deliveries/${id}/retry`)).status === 202, 60_000);
  await waitFor('its attempt', async () => (await must(client('GET', `/deliveries/${id}`))).attempt_count >= 3, 60_000);
  await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
}, 180_000);

test.each(['SERVFAIL', 'NXDOMAIN'] as const)(
  'name servers respond %s: the ladder continues, and a retry succeeds after they recover',
  async (mood) => {
    nameServer.mood = mood;
    const url = `http://${mood}.example.com:${receiver.port}/`;
    const { webhookId } = await must(client('POST', '/webhook-endpoints', { url, secret: SECRET }));
    const id = await newTransfer();
    await must(change(id));
    const delivery = await waitFor(
      'two attempts',
      async () => {
        const { data } = await must(client('GET', `/webhook-endpoints/${webhookId}/deliveries`));
        return data[0]?.attempt_count === 2 && (await must(client('GET', `/deliveries/${data[0].id}`)));
      },
      60_000,
    );
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ error: 'dns' }, { error: 'dns' }] });
    nameServer.mood = 'well';
    await must(client('POST', `/deliveries/${delivery.id}/retry`));
    await waitFor(
      'it to be delivered',
      async () => (await must(client('GET', `/deliveries/${delivery.id}`))).status === 'succeeded',
      60_000,
    );
    await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
  },
  120_000,
);

test.each([1, -1])(
  'clocks of API and worker jump by %d h: no event is lost or repeated',
  async (hours) => {
    const { webhookId } = await must(client('POST', '/webhook-endpoints', { url: failing.url, secret: SECRET }));
    for (const { process: one } of [api, worker]) {
      one.send({ ahead: hours * HOUR });
      await once(one, 'message');
    }
    let sleeping = '';
    try {
      const id = await newTransferWithFreshToken(hours);
      await must(change(id));
      await waitFor('the delivery', () => arrivals(id) === 1);
      const { data } = await waitFor(
        'two attempts at the other endpoint',
        async () => {
          const page = await must(client('GET', `/webhook-endpoints/${webhookId}/deliveries`));
          return page.data[0]?.attempt_count === 2 && page;
        },
        60_000,
      );
      sleeping = data[0].id;
      const { next_attempt_at, attempts } = await must(client('GET', `/deliveries/${sleeping}`));
      // Postgres's clock sets the plan. The worker's clock sets the signature's time, which a receiver may refuse.
      expect(Math.round((Date.parse(next_attempt_at) - Date.now()) / HOUR)).toBe(1);
      expect(Math.round((Date.parse(attempts[0].t) - Date.now()) / HOUR)).toBe(hours);
      const { rows } = await admin.query(`select from deliveries where attempting_until > now() + interval '1 minute'`);
      expect(rows).toEqual([]);
      expect(arrivals(id)).toBe(1);
    } finally {
      for (const { process: one } of [api, worker]) {
        one.send({ ahead: 0 });
        await once(one, 'message');
      }
    }
    client = await caller(at, credentials);
    const id = await newTransfer();
    await must(change(id));
    await untilDelivered(id);
    expect((await must(client('GET', `/deliveries/${sleeping}`))).attempt_count).toBe(2);
    await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
  },
  120_000,
);

/** Tokens issued before a jump ahead by an hour have expired, so the client gets a new token, as it does every hour. */
async function newTransferWithFreshToken(hours: number): Promise<string> {
  const { status, body } = await client('GET', '/transfers');
  expect([status, body.code]).toEqual(hours > 0 ? [401, 'invalid_token'] : [200, undefined]);
  client = await caller(at, credentials);
  return newTransfer();
}

test.each([1, -1])("doctor reports that its machine's clock is %d h off", async (hours) => {
  const off = { ...env, CLOCK_AHEAD: String(hours * HOUR), NODE_OPTIONS: SHIFT_CLOCK.join(' ') };
  const { code, stdout } = await runCli(['doctor', '--json'], off);
  const clocks = JSON.parse(stdout).checks.find(({ check }: { check: string }) => check === 'clocks');
  expect([code, clocks.ok]).toEqual([1, false]);
  expect(clocks.detail).toMatch(
    new RegExp(
      `the clock of this machine is 3(600|599|601) s ${hours > 0 ? 'ahead of' : 'behind'} the clock of Postgres; synchronize both by NTP`,
    ),
  );
});
