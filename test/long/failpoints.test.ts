import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Failpoint } from '../../src/failpoints.js';
import { freePort } from '../../src/free-port.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { judgeRecord } from '../crash/judge-record.js';
import { judgeWorkflows, runningWorkflows } from '../crash/judge-workflows.js';
import { type Receiver, startReceiver } from '../crash/receiver.js';
import { readRecord, underWay } from '../crash/record.js';
import { type Caller, caller, must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeItLongAgo } from '../support/long-ago.js';
import { type MortalRole, startMortalRole } from '../support/role-process.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The whole service in one process dies between two steps, as by `kill -9`, once at each place; the table in
// docs/reliability.md says what each time came of it. What a test leaves, the next finds.

/** Attempt 2 at once, attempt 3 in an hour. */
const LADDER = '0s,1h';
const RUNGS = 3;

let database: TestDatabase;
let temporal: TestTemporal;
let receiver: Receiver;
let service: MortalRole;
let client: Caller;
let env: Record<string, string>;
/** What the receiver answers, in order; then 204. */
let answers: number[] = [];
let webhookId: string;

beforeAll(async () => {
  [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  receiver = await startReceiver(SECRET, (path, _, n) => (path === '/gone' ? 410 : (answers[n - 1] ?? 204)));
  const port = await freePort();
  const at = { auth_url: `http://127.0.0.1:${port}`, base_url: `http://127.0.0.1:${port}` };
  env = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: at.base_url, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', RATE_LIMIT: '1000000', DELIVERY_RETRY_DELAYS: LADDER },
  };
  const [created] = await Promise.all([runCli(['clients', 'create', '--json', '--name', 'test'], env), begin()]);
  client = await caller(at, JSON.parse(created.stdout));
  ({ webhookId } = await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/in`, secret: SECRET })));
}, 60_000);

afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await temporal?.close();
  await database?.drop();
}, 60_000);

async function begin(more: Record<string, string> = {}): Promise<void> {
  service = startMortalRole('start', { ...env, ...more });
  await service.ready;
}

/** The service dies there of what `cause` sets off, and is started again. @returns what `cause` got; undefined: no answer */
async function dieAndBegin<T>(
  [at, passes]: readonly [Failpoint, number],
  cause: () => Promise<T>,
  more?: Record<string, string>,
): Promise<T | undefined> {
  await service.dieAt(at, passes);
  const caused = cause().catch(() => undefined);
  expect(await service.ended).toBe('SIGKILL');
  expect(service.said.at(-1)).toBe(`died at failpoint ${at}`);
  await makeItLongAgo(database, temporal.client);
  await begin(more);
  return caused;
}

const makeTransfer = async () => (await must(client('POST', '/transfers', transferRequest()))).id as string;
const change = (id: string, headers?: Record<string, string>) =>
  client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, headers);
const arrivalsOf = (transfer: string) => receiver.arrivals.filter((arrival) => arrival.transfer === transfer);

/** The delivery of a transfer's one event, with its attempts. */
async function readDelivery(transfer: string) {
  const { data } = await must(client('GET', `/events?transfer_id=${transfer}`));
  expect(data).toHaveLength(1);
  const deliveries = (await must(client('GET', `/events/${data[0].id}/deliveries`))).data;
  return must(client('GET', `/deliveries/${deliveries[0].id}`));
}

const untilDelivered = (transfer: string) =>
  waitFor('the delivery and its mark', async () => {
    const delivery = await readDelivery(transfer);
    const [waiting] = await database.query<{ n: number }>(
      `select count(*)::int as n from events where outbox <> 'done'`,
      [],
    );
    return delivery.status === 'succeeded' && waiting?.n === 0 && delivery;
  });

test.each<[Failpoint, number, number[], { arrivals: number; attempts: number }]>([
  ['after-commit', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-post', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-post', 1, [], { arrivals: 2, attempts: 1 }],
  ['before-record', 1, [], { arrivals: 2, attempts: 1 }],
  ['after-record', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-start', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-start', 1, [], { arrivals: 1, attempts: 1 }],
  ['before-mark', 1, [], { arrivals: 1, attempts: 1 }],
  ['after-mark', 1, [], { arrivals: 1, attempts: 1 }],
  // The second attempt is the workflow's.
  ['after-post', 2, [500], { arrivals: 3, attempts: 2 }],
  ['after-record', 2, [500], { arrivals: 2, attempts: 2 }],
])(
  '%s, pass %d: a change that was made is delivered, receiver answering %j: %j',
  async (at, passes, given, expected) => {
    const transfer = await makeTransfer();
    answers = given;
    const answered = await dieAndBegin([at, passes], () => change(transfer));
    expect([200, undefined]).toContain(answered?.status);
    const { attempts } = await untilDelivered(transfer);
    expect({ arrivals: arrivalsOf(transfer).length, attempts: attempts.length }).toEqual(expected);
  },
);

test('before-commit: nothing has happened, and the same Idempotency-Key makes the change once', async () => {
  const transfer = await makeTransfer();
  answers = [];
  const key = { 'Idempotency-Key': transfer };
  expect(await dieAndBegin(['before-commit', 1], () => change(transfer, key))).toBeUndefined();
  expect(await must(client('GET', `/transfers/${transfer}`))).toMatchObject({ status: 'CREATED' });
  expect((await must(client('GET', `/events?transfer_id=${transfer}`))).data).toEqual([]);
  expect((await change(transfer, key)).status).toBe(200);
  await untilDelivered(transfer);
  expect(arrivalsOf(transfer)).toHaveLength(1);
});

test('after-commit with an Idempotency-Key: asked again, the same key answers the change that was made', async () => {
  const transfer = await makeTransfer();
  const key = { 'Idempotency-Key': transfer };
  expect(await dieAndBegin(['after-commit', 1], () => change(transfer, key))).toBeUndefined();
  const { status, headers } = await change(transfer, key);
  expect([status, headers.get('idempotency-replayed')]).toEqual([200, 'true']);
  await untilDelivered(transfer);
  expect(arrivalsOf(transfer)).toHaveLength(1);
});

test('the connection to Postgres dies in the commit itself: 503, nothing has happened, and it can be asked again', async () => {
  const transfer = await makeTransfer();
  const server = new pg.Client({ connectionString: database.url.reveal() });
  await server.connect();
  await server.query(`
    create function die() returns trigger language plpgsql as
      'begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(5); return null; end';
    create constraint trigger die_at_commit after insert on deliveries deferrable initially deferred
      for each row execute function die()`);
  expect((await change(transfer)).status).toBe(503);
  await server.query('drop trigger die_at_commit on deliveries');
  await server.end();
  expect(await must(client('GET', `/transfers/${transfer}`))).toMatchObject({ status: 'CREATED' });
  expect((await change(transfer)).status).toBe(200);
  await untilDelivered(transfer);
  expect(arrivalsOf(transfer)).toHaveLength(1);
});

test('after-lease: an event of an API process alone, leased by a worker that dies, is delivered once', async () => {
  const transferId = await makeTransfer();
  const elsewhere = { claims: false, committed: () => undefined };
  await dieAndBegin(['after-lease', 1], () =>
    changeStatus(database, elsewhere, { transferId, to: 'PROCESSING', reason: null }),
  );
  await untilDelivered(transferId);
  expect(arrivalsOf(transferId)).toHaveLength(1);
});

/** A transfer whose delivery has failed twice and sleeps for an hour. */
async function makeSleeping(): Promise<string> {
  const transfer = await makeTransfer();
  answers = [500, 500];
  await must(change(transfer));
  await waitFor('the hour of sleep', async () => (await readDelivery(transfer)).attempt_count === 2);
  await waitFor('the timer', async () => {
    const { events } = await temporal.client.workflow.getHandle(arrivalsOf(transfer)[0]!.event).fetchHistory();
    return events?.at(-1)?.timerStartedEventAttributes;
  });
  return transfer;
}

test('after-signal: a retry that was signalled but not answered is made, once', async () => {
  const transfer = await makeSleeping();
  const { id } = await readDelivery(transfer);
  const retry = () => client('POST', `/deliveries/${id}/retry`);
  expect(await dieAndBegin(['after-signal', 1], retry)).toBeUndefined();
  const { attempts } = await untilDelivered(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(['schedule', 'schedule', 'manual']);
  expect(arrivalsOf(transfer)).toHaveLength(3);
});

test.each<[Failpoint]>([['after-reserved'], ['after-signal'], ['before-kept'], ['after-kept']])(
  '%s of a retry with an Idempotency-Key: asked again, the same key makes one attempt and has one answer',
  async (at) => {
    const transfer = await makeSleeping();
    const { id } = await readDelivery(transfer);
    const retry = () => client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    expect(await dieAndBegin([at, 1], retry)).toBeUndefined();
    const again = await onceTemporalIsReached(retry);
    expect(again.status).toBe(202);
    await untilDelivered(transfer);
    const replayed = await retry();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual(['true', again.body]);
    await expectTriggers(transfer, ['schedule', 'schedule', 'manual']);
    expect(arrivalsOf(transfer)).toHaveLength(3);
    expect(await count('manual_retries', `delivery_id = '${id}'`)).toBe(1);
  },
);

test.each<[Failpoint]>([['after-reserved'], ['after-asked'], ['before-kept']])(
  '%s of a retry of an ended delivery with an Idempotency-Key: asked again, the same key makes one attempt',
  async (at) => {
    const transfer = await makeTransfer();
    answers = [];
    await must(change(transfer));
    const { id } = await untilDelivered(transfer);
    const retry = () => client('POST', `/deliveries/${id}/retry`, undefined, { 'Idempotency-Key': transfer });
    expect(await dieAndBegin([at, 1], retry)).toBeUndefined();
    expect((await onceTemporalIsReached(retry)).status).toBe(202);
    await waitFor('the attempt', async () => (await readDelivery(transfer)).attempt_count === 2);
    expect((await retry()).headers.get('idempotency-replayed')).toBe('true');
    await expectTriggers(transfer, ['schedule', 'manual']);
    expect(arrivalsOf(transfer)).toHaveLength(2);
  },
);

test.each<[Failpoint]>([['after-reserved'], ['after-admitted'], ['after-asked'], ['before-kept']])(
  '%s of a recover with an Idempotency-Key: asked again, the same key recovers once and answers as many',
  async (at) => {
    const transfer = await makeSleeping();
    const { id } = await readDelivery(transfer);
    await setEnabled(false);
    await setEnabled(true);
    const before = await count('recovers', 'true');
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const recover = () =>
      client('POST', `/webhook-endpoints/${webhookId}/recover`, { since }, { 'Idempotency-Key': transfer });
    expect(await dieAndBegin([at, 1], recover)).toBeUndefined();
    expect(await onceTemporalIsReached(recover)).toMatchObject({ status: 202, body: { count: 1 } });
    await untilDelivered(transfer);
    expect(arrivalsOf(transfer)).toHaveLength(3);
    const replayed = await recover();
    expect([replayed.headers.get('idempotency-replayed'), replayed.body.count]).toEqual(['true', 1]);
    expect(await count('recovers', 'true')).toBe(before + 1);
    await temporal.client.workflow
      .getHandle(arrivalsOf(transfer)[0]!.event)
      .signal('retryNow', { deliveryId: id, number: 3 });
  },
);

/** A service that has just begun answers 503 until it has its connection to Temporal. */
const onceTemporalIsReached = (ask: () => ReturnType<Caller>) =>
  waitFor('an answer of a service that reaches Temporal', async () => {
    const answered = await ask();
    return answered.status !== 503 && answered;
  });

async function expectTriggers(transfer: string, triggers: string[]): Promise<void> {
  const { attempts } = await readDelivery(transfer);
  expect(attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual(triggers);
}

const setEnabled = (enabled: boolean) =>
  must(client('PUT', `/webhook-endpoints/${webhookId}`, { url: `${receiver.url}/in`, enabled }));

async function count(table: string, where: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(`select count(*)::int as n from ${table} where ${where}`, []);
  return row?.n ?? 0;
}

test('after-put-back: a recovery goes on where it died, and delivers once', async () => {
  const transfer = await makeSleeping();
  await setEnabled(false);
  await setEnabled(true);
  expect(await readDelivery(transfer)).toMatchObject({ status: 'cancelled' });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const answered = await dieAndBegin(['after-put-back', 1], () =>
    client('POST', `/webhook-endpoints/${webhookId}/recover`, { since }),
  );
  if (answered) expect(answered).toMatchObject({ status: 202, body: { count: 1 } });
  const { id } = await untilDelivered(transfer);
  expect(arrivalsOf(transfer)).toHaveLength(3);
  // The event's own workflow would see in an hour that the delivery was taken over.
  const { event } = arrivalsOf(transfer)[0]!;
  await temporal.client.workflow.getHandle(event).signal('retryNow', { deliveryId: id, number: 3 });
});

test('before-disable: a 410 that was not recorded comes again, and its endpoint is disabled before its delivery fails', async () => {
  const gone = await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/gone`, secret: SECRET }));
  const isEnabled = async () => (await must(client('GET', `/webhook-endpoints/${gone.webhookId}`))).enabled;
  answers = [];
  const transfer = await makeTransfer();
  await dieAndBegin(['before-disable', 1], () => change(transfer));
  await waitFor('its delivery to be failed', async () => {
    const { data } = await must(client('GET', `/webhook-endpoints/${gone.webhookId}/deliveries`));
    return data[0]?.status === 'failed';
  });
  expect(await isEnabled()).toBe(false);
});

test('after all of it nothing runs any more, and the record is what the receiver saw', async () => {
  const connection = new pg.Client({ connectionString: database.url.reveal() });
  await connection.connect();
  // A first workflow task that died with its worker is given to another after 10 s.
  await waitFor('quiet', async () => {
    const counts = [...Object.values(await underWay(connection)), await runningWorkflows(temporal.client)];
    return counts.every((count) => count === 0);
  });
  const record = await readRecord(connection);
  await connection.end();
  expect(judgeRecord(record, receiver.arrivals, RUNGS).faults).toEqual([]);
  expect(await judgeWorkflows(temporal.client, record, RUNGS)).toEqual([]);
});

test('after-removed: the removal of what is too old goes on, and leaves nothing in half', async () => {
  const retention = { RETENTION: '1s' };
  await service.stop();
  await begin(retention);
  const options = { workflowId: 'remove', taskQueue: 'webhook-deliveries' };
  const removal = () => temporal.client.workflow.start('removeExpired', options);
  await dieAndBegin(['after-removed', 1], removal, retention);
  await temporal.client.workflow.getHandle('remove').result();
  const [left] = await database.query<{ events: number; deliveries: number; attempts: number }>(
    `select (select count(*)::int from events) as events, (select count(*)::int from deliveries) as deliveries,
            (select count(*)::int from attempts) as attempts`,
    [],
  );
  expect(left).toEqual({ events: 0, deliveries: 0, attempts: 0 });
});
