import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { measureProcess } from '../../../src/platform/telemetry/gauges.js';
import { createMetrics } from '../../../src/platform/telemetry/metrics.js';
import { measureBacklog } from '../../../src/reports/backlog.js';
import { startApi } from '../../support/api.js';
import { waitFor } from '../../support/wait-for.js';

const linesOf = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(name));

test('makes no new series for the paths, ids and methods that clients send', async () => {
  const metrics = createMetrics();
  const api = await startApi({ dependencies: { metrics } });
  const client = await api.client();
  const requests: [string, string][] = [
    ['GET', '/transfers/0190a8e2-0000-7000-8000-000000000001'],
    ['GET', '/transfers/0190a8e2-0000-7000-8000-000000000002'],
    ['GET', '/nowhere/at/all?secret=in-a-query'],
    ['PROPFIND', '/nowhere/else'],
  ];
  for (const [method, path] of requests) await client.call(method, path);
  await api.close();
  expect(linesOf(await metrics.text(), 'http_requests_total{')).toEqual([
    'http_requests_total{method="GET",route="/transfers/:id",status="404"} 2',
    'http_requests_total{method="GET",route="none",status="404"} 1',
    'http_requests_total{method="other",route="none",status="404"} 1',
  ]);
});

test('shows the requests in flight, and the use of the pool, while Postgres makes them wait', async () => {
  const metrics = createMetrics();
  const api = await startApi({ dependencies: { metrics } });
  const { pool } = api.database;
  metrics.poolOpened('api', () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: 3 }));
  const client = await api.client();
  const holder = await pool.connect();
  await holder.query('begin; lock table transfers in access exclusive mode');
  const requests = [1, 2].map(() => client.call('GET', '/transfers'));
  const shows = (line: string) => waitFor(line, async () => (await metrics.text()).includes(`${line}\n`));
  await shows('http_requests_in_flight 2');
  await shows('database_connections{pool="api",state="busy"} 3');
  await shows('database_connection_waiters{pool="api"} 3');
  await holder.query('rollback');
  holder.release();
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([200, 200]);
  await shows('http_requests_in_flight 0');
  await shows('database_connections{pool="api",state="busy"} 0');
  await api.close();
});

test('reports at a successful scrape that Postgres is unavailable', async () => {
  const registry = new Registry();
  const away = () => Promise.reject(new Error('connect ECONNREFUSED'));
  measureBacklog(registry, away, 86_400_000);
  const checks = { postgres: 'unreachable', migrations: 'unknown', temporal: 'starting' };
  measureProcess(registry, async () => ({ checks }));
  const text = await registry.metrics();
  expect(text).toContain('webhook_backlog_up 0\n');
  expect(text).toContain('webhook_deliveries_overdue Nan\n');
  expect(text).toContain('webhook_retention_seconds 86400\n');
  expect(linesOf(text, 'dependency_up{')).toEqual([
    'dependency_up{dependency="postgres"} 0',
    'dependency_up{dependency="migrations"} 0',
    'dependency_up{dependency="temporal"} 0',
  ]);
});
