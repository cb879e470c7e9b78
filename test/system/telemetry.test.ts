import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { migrate } from '../../src/platform/database/migrate.js';
import { freePort } from '../../src/platform/free-port.js';
import { must } from '../support/caller.js';
import { type CollectedSpan, startCollector } from '../support/collector.js';
import { createTestDatabase } from '../support/database.js';
import { ALERTS, DASHBOARD, hasPromtool, metricsIn, promtool } from '../support/monitoring.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// An API and a worker as separate processes, with a collector of traces and a receiver that fails once.

const TRACE = randomBytes(16).toString('hex');
const CALLER = randomBytes(8).toString('hex');
const SERVER = 2;
const CLIENT = 3;

const database = await createTestDatabase();
// The template of test databases is made with no record of its migrations.
await database.pool.query('drop schema public cascade; create schema public');
await migrate(database.url);
const collector = await startCollector();
const ports = { api: await freePort(), worker: await freePort() };
const service = await startService({
  database,
  roles: ['api', 'worker'],
  settings: {
    ...{ LOG_LEVEL: 'info', DELIVERY_RETRY_DELAYS: '1s' },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
  },
  faults: { api: { METRICS_PORT: `${ports.api}` }, worker: { METRICS_PORT: `${ports.worker}` } },
  receive: (socket, number) =>
    socket.write(number === 1 ? 'HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n' : 'HTTP/1.1 204 x\r\n\r\n'),
});
afterAll(() => collector.close());
const { call: client, receiver, running } = service;

// One event: the first attempt fails, the second succeeds.
await service.register({ url: `${receiver.url}/hooks/of-somebody?key=zebra-4711` });
const transferId = await service.makeTransfer();
// The caller does not keep this trace, and does not decide for the service.
await must(service.change(transferId, { traceparent: `00-${TRACE}-${CALLER}-00` }));
const event = await waitFor('the second attempt to succeed', async () => {
  const { data } = await must(client('GET', `/events?transfer_id=${transferId}`));
  return data[0].deliveries.succeeded === 1 && data[0];
});
const deliveryId: string = (await must(client('GET', `/events/${event.id}/deliveries`))).data[0].id;

const scrape = async (role: 'api' | 'worker') => (await fetch(`http://127.0.0.1:${ports[role]}/metrics`)).text();

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
    const said = [...running.api.said, ...running.worker.said].filter((line) => line.startsWith('{'));
    const ofTrace = said.map((line) => JSON.parse(line)).filter(({ trace_id }) => trace_id === TRACE);
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
    const text = await scrape('worker');
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
  expect(await scrape('api')).toContain(
    'http_requests_total{method="POST",route="/sandbox/transfers/:id/status",status="200"} 1\n',
  );
});

test('every connection to Postgres says which role holds it', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    'select distinct application_name as name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  const names = rows.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['transfer-service api', 'transfer-service worker']));
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
  expect(promtool(['check', 'metrics'], await scrape('worker'))).toBe('');
  expect(promtool(['check', 'metrics'], await scrape('api'))).toBe('');
});
