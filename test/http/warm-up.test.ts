import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/database/database.js';
import { warmUp } from '../../src/http/warm-up.js';
import { Secret } from '../../src/secret.js';
import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

test('opens every connection of the pool and prepares the statements of a change, and writes nothing', async () => {
  const { dependencies, database } = api;
  const own = openDatabase({ url: database.url, poolSize: 6 });
  await warmUp({ ...dependencies, config: { ...dependencies.config, databasePoolSize: 6 }, database: own });
  expect([own.pool.totalCount, own.pool.idleCount]).toEqual([6, 6]);
  const prepared = await Promise.all(
    Array.from({ length: 6 }, () =>
      own.hot<{ statement: string }>(
        'select pg_sleep(0.2)::text, array_agg(statement)::text as statement from pg_prepared_statements',
        [],
      ),
    ),
  );
  const changes = prepared.filter(([row]) => row?.statement.includes('transfer_status_history'));
  expect(changes.length).toBeGreaterThan(1);
  for (const table of ['transfers', 'events', 'idempotency_keys', 'audit_entries']) {
    expect(await own.query(`select 1 from ${table}`, [])).toEqual([]);
  }
  await own.close();
});

test('an API starts without Postgres', async () => {
  const away = openDatabase({ url: new Secret('postgresql://x:x@127.0.0.1:1/x'), poolSize: 4 });
  await expect(warmUp({ ...api.dependencies, database: away })).resolves.toBeUndefined();
  await away.close();
});
