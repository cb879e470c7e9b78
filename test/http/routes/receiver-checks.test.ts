import type { Reply } from '../../support/documented.js';
import '../../support/quiet-temporal.js';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createCheckActivities } from '../../../activities/check-receiver.js';
import { finishCheck } from '../../../src/checks/checks.js';
import { createAddressGuard } from '../../../src/delivery/sender/address-guard.js';
import { createSender } from '../../../src/delivery/sender/send.js';
import { startWorkflows } from '../../../src/delivery/start-workflows.js';
import { shareWaiting } from '../../../src/delivery/waiting.js';
import { newId } from '../../../src/platform/ids.js';
import { createMetrics } from '../../../src/platform/telemetry/metrics.js';
import { CHECK_CASE_NAMES } from '../../../src/platform/vocabulary.js';
import { SANDBOX_TASK_QUEUE } from '../../../workflows/sandbox-task-queue.js';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
import { type CheckedReceiver, type Mistake, startCheckedReceiver } from '../../support/checked-receiver.js';
import { ageUses } from '../../support/limits.js';
import { createTestNamespace, type TestTemporal } from '../../support/temporal.js';
import { SECRET } from '../../support/transfers.js';
import { waitFor } from '../../support/wait-for.js';

let temporal: TestTemporal;
let api: TestApi;
let client: TestClient;
/** The loop of a worker that starts the workflows. */
let outbox: ReturnType<typeof startWorkflows>;
/** As `/readyz` reports it. */
let temporalState = 'ok';
const metrics = createMetrics();
const receivers: CheckedReceiver[] = [];

beforeAll(async () => {
  temporal = await createTestNamespace();
  const readiness = async () => {
    return { ready: true, checks: { postgres: 'ok', migrations: 'applied', temporal: temporalState } };
  };
  api = await startApi({ env: { ALLOW_PRIVATE_RECEIVERS: 'true' }, dependencies: { readiness } });
  // Prisma loads its compiler with the first query, which Jest allows in a hook, and not in a loop between two tests.
  await api.database.query('select 1 as one', []);
  const { database: db, log } = api.dependencies;
  const waiting = shareWaiting(db, { isFirst: true });
  outbox = startWorkflows({ db, temporal: () => temporal.client, log, waiting, interval: 100 });
  outbox.start();
}, 120_000);
beforeEach(async () => {
  client = await api.client();
});
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await outbox?.stop();
  await api.close();
  await temporal.close();
});

/** Starts a worker of the sandbox's task queue. @returns a function that stops it */
async function startWorker(): Promise<() => Promise<void>> {
  const { database, masterKeys } = api.dependencies;
  const sender = createSender({ guard: createAddressGuard({ allowPrivate: true, blocked: [] }) });
  const connection = await NativeConnection.connect({ address: temporal.address });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: SANDBOX_TASK_QUEUE,
    workflowBundle: { codePath: fileURLToPath(new URL('../../../dist/workflow-bundle.js', import.meta.url)) },
    activities: createCheckActivities({ database, masterKeys, sender, metrics }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
    await sender.close();
  };
}

async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const stop = await startWorker();
  return work().finally(stop);
}

async function register(mistake?: Mistake, by = client): Promise<string> {
  const receiver = await startCheckedReceiver(SECRET, mistake);
  receivers.push(receiver);
  const { body } = await by.call('POST', '/webhook-endpoints', { json: { url: receiver.url, secret: SECRET } });
  return body.webhookId;
}

const check = (webhookId: string, headers: Record<string, string> = {}, by = client) =>
  by.call('POST', `/webhook-endpoints/${webhookId}/checks`, { headers });
const said = ({ status, body }: Reply) => [status, body.code];
const handleOf = (checkId: string) => temporal.client.workflow.getHandle(`check-${checkId}`);
const rows = (webhookId: string) => api.database.prisma.receiverCheck.count({ where: { endpointId: webhookId } });
const starts = (webhookId: string) => api.database.prisma.workflowStart.count({ where: { endpointId: webhookId } });
const started = (id: string) =>
  waitFor('the start of a check', async () => {
    const row = await api.database.prisma.workflowStart.findUnique({ where: { workflowId: `check-${id}` } });
    return row === null || row.startedAt !== null;
  });
/** Makes the last check of the endpoint a minute old. */
async function late(webhookId: string): Promise<void> {
  await age(webhookId, '60 seconds');
  await api.database.query(
    `update workflow_starts set created_at = created_at - interval '60 seconds' where endpoint_id = $1::uuid`,
    [webhookId],
  );
}
/** Makes the last check of the endpoint older than the limit. */
async function age(webhookId: string, by = '10 seconds'): Promise<void> {
  await ageUses(api.database, 'checks of an endpoint', webhookId, by);
  await api.database.query(
    `update receiver_checks set started_at = started_at - interval '${by}' where endpoint_id = $1::uuid`,
    [webhookId],
  );
}
/** The first response that is not 429: a process remembers for a second that a key was over its limit. */
const admitted = (ask: () => ReturnType<TestClient['call']>) =>
  waitFor('the limit', async () => {
    const reply = await ask();
    return reply.status !== 429 && reply;
  });
const report = (webhookId: string, id: string, by = client) =>
  by.call('GET', `/webhook-endpoints/${webhookId}/checks/${id}`);
const ended = (webhookId: string, id: string) =>
  waitFor('the end of a check', async () => {
    const { body } = await report(webhookId, id);
    return body.status !== 'running' && body;
  });

describe('a check', () => {
  let stopWorker: () => Promise<void>;
  beforeAll(async () => {
    stopWorker = await startWorker();
  });
  afterAll(() => stopWorker());

  it('is accepted with 202, and its report is at Location', async () => {
    const webhookId = await register();
    const started = await check(webhookId);
    expect([started.status, Object.keys(started.body)]).toEqual([202, ['id']]);
    const { id } = started.body;
    expect(started.headers.get('location')).toBe(`https://api.test/webhook-endpoints/${webhookId}/checks/${id}`);
    const made = await ended(webhookId, id);
    expect(made).toMatchObject({ id, status: 'passed' });
    expect(Object.keys(made)).toEqual(['id', 'status', 'started_at', 'finished_at', 'cases']);
    expect(Date.parse(made.finished_at)).toBeGreaterThanOrEqual(Date.parse(made.started_at));
    expect(made.cases.map((one: { name: string }) => one.name)).toEqual(CHECK_CASE_NAMES);
    expect(made.cases[6]).toEqual({
      name: 'wrong_secret',
      expected: 'refused',
      response_status: 401,
      error: 'status',
      passed: true,
      hint: null,
      request: {
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': 'Service-Webhooks/1.0',
          Accept: '*/*',
          'Service-Signature': expect.stringMatching(/^t=[^,]+Z,v0=[0-9a-f]{64}$/),
        },
        body: receivers.at(-1)?.requests[6]?.body,
      },
    });
    expect(Object.keys(made.cases[8].request.headers).sort()).toEqual(['Accept', 'Content-Type', 'User-Agent']);
  });

  it('that fails names the mistake, and shows a masked v0 to a reader without webhooks:write', async () => {
    const webhookId = await register('accepts any signature');
    await api.database.query(`update webhook_endpoints set signatures = '{standard}' where id = $1::uuid`, [webhookId]);
    const { id } = (await check(webhookId)).body;
    const made = await ended(webhookId, id);
    expect(made.status).toBe('failed');
    expect(made.cases[6]).toMatchObject({ response_status: 204, error: null, passed: false });
    expect(made.cases[6].hint).toMatch(/accepts any signature/);
    const token = Buffer.from(JSON.stringify({ clientId: client.id, scopes: ['webhooks:read'] }));
    const headers = { Authorization: `Bearer ${token.toString('base64url')}` };
    const masked = await api.call('GET', `/webhook-endpoints/${webhookId}/checks/${id}`, { headers });
    const signature = masked.body.cases[0].request.headers['Service-Signature'];
    expect(signature).toMatch(/^t=[^,]+Z,v0=\*\*\*$/);
    expect(masked.body.cases[0].request.headers['webhook-signature']).toBe('v1,***');
    expect(masked.text).not.toMatch(/[0-9a-f]{64}|v1,[^*]/);
  });

  it('is found in Temporal by client and endpoint, with its progress and without secret, request or URL', async () => {
    const webhookId = await register('accepts an old t');
    const { id } = (await check(webhookId)).body;
    await ended(webhookId, id);
    const handle = handleOf(id);
    expect(await handle.result()).toEqual(['stale_timestamp']);
    const { typedSearchAttributes, staticSummary } = await handle.describe();
    const host = new URL(receivers.at(-1)?.url ?? '').host;
    expect([typedSearchAttributes.getAll().map(({ value }) => value), await staticSummary()]).toEqual([
      expect.arrayContaining([client.id, [webhookId]]),
      `check of the receiver → ${host} …${webhookId.slice(-8)}`,
    ]);
    const metadata = await handle.query('__temporal_workflow_metadata');
    expect(JSON.stringify(metadata)).toContain('8 of 9 cases passed. Failed: stale_timestamp.');
    const payloads = JSON.parse(historyToJSON(await handle.fetchHistory()), (key, value) =>
      key === 'data' ? Buffer.from(value, 'base64').toString() : value,
    );
    const history = JSON.stringify(payloads);
    expect(history.includes('stale_timestamp')).toBe(true);
    expect([SECRET, 'v0=', 'created_at', '/hooks'].filter((text) => history.includes(text))).toEqual([]);
  });
});

describe('the check of an endpoint', () => {
  it('is rejected while another check of it runs, even when ten requests race', async () => {
    const webhookId = await register();
    const replies = await Promise.all(Array.from({ length: 10 }, () => check(webhookId)));
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1);
    for (const reply of replies.filter(({ status }) => status !== 202)) {
      expect(said(reply)).toEqual([409, 'check_in_progress']);
    }
    await age(webhookId);
    expect(said(await check(webhookId))).toEqual([409, 'check_in_progress']);
  });

  it('is rejected while two others of the client run, even at deleted endpoints', async () => {
    const [one, two, three] = [await register(), await register(), await register()];
    const { id } = (await check(one)).body;
    expect((await check(two)).status).toBe(202);
    await client.call('DELETE', `/webhook-endpoints/${two}`);
    expect(said(await check(three))).toEqual([409, 'check_in_progress']);
    const stranger = await api.client();
    expect((await check(await register(undefined, stranger), {}, stranger)).status).toBe(202);
    await finishCheck(api.database, id, 'stopped');
    expect((await check(three)).status).toBe(202);
  });

  // The limits counted by endpoint alone: a client registered, checked and deleted, 18 checks a second.
  it('is rejected after ten of the client in a minute, when each endpoint is registered, checked and deleted', async () => {
    const url = 'https://receiver.example/hooks';
    const loop = async () => {
      const { body } = await client.call('POST', '/webhook-endpoints', { json: { url, secret: SECRET } });
      const reply = await check(body.webhookId);
      await client.call('DELETE', `/webhook-endpoints/${body.webhookId}`);
      if (reply.status === 202) await finishCheck(api.database, reply.body.id, 'stopped');
      return reply;
    };
    for (let i = 0; i < 10; i++) expect((await loop()).status).toBe(202);
    const refused = await loop();
    const wait = Number(refused.headers.get('retry-after'));
    expect([...said(refused), wait > 0 && wait <= 60]).toEqual([429, 'check_limit_reached', true]);
    await ageUses(api.database, 'checks', client.id, '1 minute');
    expect((await admitted(loop)).status).toBe(202);
  });

  it('is rejected with 503 while Temporal is unavailable, and nothing is left behind', async () => {
    const webhookId = await register();
    const headers = { 'Idempotency-Key': newId() };
    for (temporalState of ['unreachable', 'starting', 'missing']) {
      const response = await check(webhookId, headers);
      const detail = `Checks need Temporal, which is ${temporalState}.`;
      expect([...said(response), response.body.detail]).toEqual([503, 'unavailable', detail]);
    }
    temporalState = 'ok';
    expect([await rows(webhookId), await starts(webhookId)]).toEqual([0, 0]);
    const { status } = await check(webhookId, headers);
    expect([status, await rows(webhookId)]).toEqual([202, 1]);
  });

  it('whose workflow was terminated continues where it was, and blocks another until then', async () => {
    const webhookId = await register();
    const { id } = (await check(webhookId)).body;
    await started(id);
    await api.database.prisma.receiverCheckCase.create({
      data: { checkId: id, position: 1, name: 'valid', responseStatus: 204, passed: true },
    });
    await handleOf(id).terminate('by an operator');
    await age(webhookId);
    expect(said(await check(webhookId))).toEqual([409, 'check_in_progress']);
    await api.database.query('update workflow_starts set start_after = now() where endpoint_id = $1::uuid', [
      webhookId,
    ]);
    const made = await withWorker(() => ended(webhookId, id));
    expect([made.status, made.cases.length, receivers.at(-1)?.requests.length]).toEqual(['passed', 9, 8]);
  });

  it('that is not started within a minute has failed, and blocks nothing, even without a worker', async () => {
    await outbox.stop();
    const [read, checked] = [await register(), await register()];
    const { id } = (await check(read)).body;
    expect((await check(checked)).status).toBe(202);
    expect((await report(read, id)).body.status).toBe('running');
    await late(read);
    const { status, cases } = (await report(read, id)).body;
    expect([status, cases.length]).toEqual(['failed', 9]);
    for (const one of cases) expect(one).toMatchObject({ passed: false, request: null });
    expect(cases[0].hint).toMatch(/not started within/);
    await late(checked);
    expect((await check(checked)).status).toBe(202);
    expect([await rows(checked), await starts(checked)]).toEqual([2, 1]);
  });
});
