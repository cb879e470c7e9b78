import { afterEach, expect, it } from '@jest/globals';
import { listenForOperators } from '../../src/http/operations.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import type { Readiness } from '../../src/process/readiness.js';
import { readinessOf } from '../../src/process/readiness.js';
import { openApi } from '../support/api.js';

let operations: Awaited<ReturnType<typeof listenForOperators>> | undefined;
const api = await openApi();
// The template of test databases has no record of its migrations.
await api.database.pool.query('drop schema public cascade; create schema public');
await migrate(api.database.url);
afterEach(() => operations?.close());

async function listenOn(port: number, allowedNetworks: string[], readiness: () => Promise<Readiness>): Promise<string> {
  const { config, log } = api.dependencies;
  const metrics = createMetrics();
  operations = await listenForOperators(
    { config: { ...config, metrics: { port, allowedNetworks } }, log, metrics },
    readiness,
  );
  return operations.url as string;
}

const isReady = async () => ({ ready: true, checks: { postgres: 'ok', migrations: 'applied', temporal: 'ok' } });

it('a worker serves its health, readiness and metrics, and no other path; it is ready without Temporal', async () => {
  const { config, database } = api.dependencies;
  const signalled = new Promise<void>(() => {});
  const url = await listenOn(0, ['127.0.0.0/8', '::1/128'], readinessOf({ config, database, signalled }));
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
  const checks = { postgres: 'ok', migrations: 'applied', temporal: 'starting' };
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready', checks });
  const other = await fetch(`${url}/transfers`);
  expect([other.status, await other.json()]).toEqual([404, expect.objectContaining({ code: 'not_found' })]);
  expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
});

it('a process is unready at once after a signal to stop, also for a probe that waits for a hanging Postgres', async () => {
  const { config, database } = api.dependencies;
  let end = () => {};
  const signalled = new Promise<void>((resolve) => {
    end = resolve;
  });
  const hanging = { ...database, query: () => new Promise<never>(() => {}) };
  const readiness = readinessOf({ config, database: hanging, signalled });
  const asked = readiness();
  end();
  const unready = { ready: false, checks: { postgres: 'unknown', migrations: 'unknown', temporal: 'unknown' } };
  expect([await asked, await readiness()]).toEqual([unready, unready]);
});

it('disconnects clients outside METRICS_ALLOWED_NETWORKS, forwarded or not', async () => {
  const url = await listenOn(0, ['203.0.113.0/24'], isReady);
  await expect(fetch(`${url}/healthz`, { headers: { 'X-Forwarded-For': '203.0.113.1' } })).rejects.toThrow();
});

it('does not listen without METRICS_PORT', async () => {
  const { config, log } = api.dependencies;
  const context = { config: { ...config, metrics: undefined }, log, metrics: createMetrics() };
  expect((await listenForOperators(context, isReady)).url).toBeNull();
});
