import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { type Caller, caller, must } from '../support/caller.js';
import { startCli } from '../support/cli.js';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.js';
import { runCommand } from '../support/command.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ALERTS, DASHBOARD, hasPromtool, metricsIn, promtool } from '../support/monitoring.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// An API and a worker as separate processes, with a collector of traces and a receiver that fails once.

const TRACE = randomBytes(16).toString('hex');
const CALLER = randomBytes(8).toString('hex');
const SERVER = 2;
const CLIENT = 3;

const processes: ChildProcess[] = [];
const logged: Record<string, string | number>[] = [];
let database: TestDatabase;
let collector: Collector;
let receiver: RawReceiver;
let client: Caller;
let apiMetrics: string;
let workerMetrics: string;
let deliveryId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  // The template of test databases is made with no record of its migrations.
  await database.pool.query('drop schema public cascade; create schema public');
  collector = await startCollector();
  receiver = await startRawReceiver((socket, number) => {
    socket.write(number === 1 ? 'HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n' : 'HTTP/1.1 204 x\r\n\r\n');
  });
  const [port, metricsPort] = [await freePort(), await freePort()];
  const base_url = `http://localhost:${port}`;
  apiMetrics = `http://localhost:${metricsPort}`;
  const env: Record<string, string> = {
    ...{
      ENVIRONMENT: 'sandbox',
      HOST: '127.0.0.1',
      PORT: `${port}`,
      BASE_URL: base_url,
      METRICS_PORT: `${metricsPort}`,
    },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS as string,
    TEMPORAL_NAMESPACE: `test-${randomBytes(6).toString('hex')}`,
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', DELIVERY_RETRY_DELAYS: '1s' },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
  };
  expect(await runCommand(['migrate'], env)).toMatchObject({ code: 0 });
  const created = await runCommand(['clients', 'create', '--json', '--name', 'test'], env);
  expect(await run('api', env)).toBe(base_url);
  workerMetrics = await run('worker', { ...env, METRICS_PORT: '0' });
  client = await caller({ auth_url: base_url, base_url }, JSON.parse(created.stdout));
  await deliver();
});

afterAll(async () => {
  for (const child of processes) child.kill('SIGTERM');
  await Promise.all(processes.map((child) => child.exitCode ?? once(child, 'exit')));
  await receiver?.close();
  await collector?.close();
  await database?.drop();
});

/** @returns the address that the role announces */
async function run(role: 'api' | 'worker', env: Record<string, string>): Promise<string> {
  const child = startCli([role, '--json'], env);
  processes.push(child);
  createInterface({ input: child.stderr as NonNullable<typeof child.stderr> }).on('line', (line) => {
    if (line.startsWith('{')) logged.push(JSON.parse(line));
  });
  const [line] = await once(createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }), 'line');
  return JSON.parse(line as string).ready;
}

/** Makes one event: the first attempt fails, the second succeeds. */
async function deliver(): Promise<void> {
  await must(
    client('POST', '/webhook-endpoints', { url: `${receiver.url}/hooks/of-somebody?key=zebra-4711`, secret: SECRET }),
  );
  const { id } = await must(client('POST', '/transfers', transferRequest()));
  // The caller does not keep this trace, and does not decide for the service.
  const traceparent = `00-${TRACE}-${CALLER}-00`;
  await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, { traceparent }));
  const event = await waitFor('the second attempt to succeed', async () => {
    const { data } = await must(client('GET', `/events?transfer_id=${id}`));
    return data[0].deliveries.succeeded === 1 && data[0];
  });
  deliveryId = (await must(client('GET', `/events/${event.id}/deliveries`))).data[0].id;
}

const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();

test('one trace spans the request, the start of the workflow and both POSTs, across processes', async () => {
  const spanOf = (name: string, attributes: object = {}) =>
    waitFor(`the span ${name}`, () =>
      collector.spans.find(
        (span) =>
          span.traceId === TRACE &&
          span.name === name &&
          Object.entries(attributes).every(([key, value]) => String(span.attributes[key]) === String(value)),
      ),
    );
  const post = `POST 127.0.0.1:${receiver.port}`;
  const request = await spanOf('POST /sandbox/transfers/:id/status');
  const start = await spanOf('StartWorkflow:deliverEvent');
  const first = await spanOf(post, { attempt: 1, trigger: 'schedule', 'http.response.status_code': 500 });
  const second = await spanOf(post, { attempt: 2, delivery_id: deliveryId, 'http.response.status_code': 204 });
  const under = (span: CollectedSpan) => [span.service, span.kind, span.parentSpanId];
  expect(under(request)).toEqual(['transfer-service-api', SERVER, CALLER]);
  expect(under(start)).toEqual(['transfer-service-worker', CLIENT, request.spanId]);
  expect(under(first)).toEqual(['transfer-service-worker', CLIENT, request.spanId]);
  expect(under(second)).toEqual(['transfer-service-worker', CLIENT, request.spanId]);
});

test('spans contain no path, query, body or secret, and receivers get only the documented headers', () => {
  const sent = collector.received.join('');
  for (const text of ['of-somebody', 'zebra-4711', SECRET, 'transfer.status_changed', 'Ada Lovelace']) {
    expect(sent).not.toContain(text);
  }
  expect(receiver.requests).toHaveLength(2);
  for (const request of receiver.requests) expect(request.toLowerCase()).not.toContain('traceparent');
});

test('the log lines of the request and of both attempts name the trace', async () => {
  const lines = await waitFor('three lines', () => {
    const ofTrace = logged.filter(({ trace_id }) => trace_id === TRACE);
    return ofTrace.length >= 3 && ofTrace.map(({ role, msg, number, outcome }) => ({ role, msg, number, outcome }));
  });
  const attempt = { role: 'worker', msg: 'attempt' };
  expect(lines.filter(({ role }) => role === 'worker')).toEqual([
    { ...attempt, number: 1, outcome: 'status' },
    { ...attempt, number: 2, outcome: 'success' },
  ]);
  expect(lines.filter(({ role }) => role === 'api')).toEqual([{ role: 'api', msg: 'request' }]);
});

/** A dependency that does not respond in time is missing from a scrape, as happens on a busy machine. */
const wholeScrape = () =>
  waitFor('a whole scrape', async () => {
    const text = await scrape(workerMetrics);
    const whole = [
      'webhook_backlog_up 1',
      'dependency_up{dependency="temporal"} 1',
      'dependency_up{dependency="migrations"} 1',
      'temporal_activity_execution_latency',
    ];
    return whole.every((part) => text.includes(part)) && text;
  });

test('a worker serves its own metrics and those of Temporal’s SDK in one scrape', async () => {
  const text = await wholeScrape();
  for (const line of [
    'webhook_attempts_total{outcome="status",trigger="schedule"} 1',
    'webhook_attempts_total{outcome="success",trigger="schedule"} 1',
    'webhook_first_attempt_delay_seconds_count 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect(text).toMatch(/^temporal_activity_execution_latency_seconds_count{activity_type="deliver",.*} 1$/m);
  expect(await scrape(apiMetrics)).toContain(
    'http_requests_total{method="POST",route="/sandbox/transfers/:id/status",status="200"} 1\n',
  );
});

test('every connection to Postgres says which role or command holds it', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    'select distinct application_name as name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  const names = rows.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['transfer-service api', 'transfer-service worker']));
  // A command is over too soon to be seen there. A server that only listens gets its startup message.
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const message = once(server, 'connection').then(async ([socket]) => {
    const [bytes] = await once(socket, 'data');
    socket.destroy();
    return String(bytes);
  });
  await runCommand(['clients', 'list'], { DATABASE_URL: `postgresql://app:x@127.0.0.1:${port}/app` });
  expect((await message).split('\0')).toContain('transfer-service cli');
  server.close();
});

test('every metric in the alerts and the dashboard exists', async () => {
  const text = await wholeScrape();
  const existing = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  // The SDK reports this metric only after a first failure.
  existing.add('temporal_workflow_task_execution_failed_total');
  const asked = metricsIn(ALERTS + DASHBOARD);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !existing.has(name))).toEqual([]);
});

const withPromtool = hasPromtool ? test : test.skip;
withPromtool('promtool (Debian: prometheus) finds nothing wrong with a scrape', async () => {
  expect(promtool(['check', 'metrics'], await scrape(workerMetrics))).toBe('');
  expect(promtool(['check', 'metrics'], await scrape(apiMetrics))).toBe('');
});
