import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { SERVICE_SETTINGS, VALUE_SETTINGS } from '../../src/platform/database/server-settings.js';
import { Secret } from '../../src/platform/secret.js';
import { runCommand } from '../support/command.js';
import { readDelivered } from '../support/delivered.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { type Pooler, pgbouncer, startPooler } from '../support/pgbouncer.js';
import { asRole, createOwnedDatabase, openOwnedDatabase } from '../support/runtime-role.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

/** The tests' server, as its superuser. */
const SERVER = new Secret(process.env.TEST_DATABASE_URL ?? '');

const database = await createOwnedDatabase();
await migrate(database.ownerUrl, { runtime: database.runtimeRole });
// As deploy/postgres/roles.sql does.
await asRole(SERVER, async (client) => {
  for (const [name, value] of Object.entries({ ...SERVICE_SETTINGS, ...VALUE_SETTINGS })) {
    await client.query(`alter role ${database.runtimeRole} set ${name} = '${value}'`);
  }
});
const service = await startService({ database: await openOwnedDatabase(database), roles: ['api'] });
const { call: client, receiver, running } = service;

/** The runtime role's URL with a name that pg_stat_activity shows. */
function named(application: string): string {
  const address = new URL(database.runtimeUrl.reveal());
  address.searchParams.set('application_name', application);
  return address.href;
}

test('connections through a pooler start with the settings that it keeps, and have no others, which it would refuse', async () => {
  const read = async (pooled: boolean) => {
    const connected = openDatabase({ url: database.ownerUrl, pooled, poolSize: 2 });
    const names = ['statement_timeout', 'datestyle', 'timezone'];
    const [row] = await connected
      .query<{ set: string[] }>('select json_agg(current_setting(name)) as set from unnest($1::text[]) as name', [
        names,
      ])
      .finally(() => connected.close());
    return row?.set;
  };
  const name = new URL(database.ownerUrl.reveal()).pathname.slice(1);
  await asRole(database.ownerUrl, async (client) => {
    await client.query(`alter database ${name} set datestyle = 'German'`);
    await client.query(`alter database ${name} set timezone = 'Asia/Kolkata'`);
  });
  // The owner has no time limits.
  expect(await read(true)).toEqual(['0', 'ISO, MDY', 'UTC']);
  expect(await read(false)).toEqual([SERVICE_SETTINGS.statement_timeout, 'ISO, MDY', 'UTC']);
});

test('a worker listens past the pooler, and does the rest through it', async () => {
  const worker = await service.start('worker', {
    DATABASE_URL: named('pooled'),
    DATABASE_DIRECT_URL: named('direct'),
  });
  try {
    const listening = await waitFor('the worker to listen', () =>
      // Only a superuser sees the statements of other roles.
      asRole(SERVER, async (client) => {
        const { rows } = await client.query<{ name: string; query: string }>(
          'select application_name as name, query from pg_stat_activity where usename = $1',
          [database.runtimeRole],
        );
        const listens = rows.filter(({ query }) => query === 'listen queue');
        return listens.length > 0 && rows.some(({ name }) => name === 'pooled') && listens;
      }),
    );
    expect(listening.map(({ name }) => name)).toEqual(['direct']);
  } finally {
    await worker.stop();
  }
});

const withPgbouncer = pgbouncer ? describe : describe.skip;
withPgbouncer('PgBouncer 1.21 or later (on PATH, or in the cache as `pgbouncer`)', () => {
  let pooler: Pooler;
  let env: Record<string, string>;

  beforeAll(async () => {
    pooler = await startPooler(database.runtimeUrl, 5);
    env = { DATABASE_URL: pooler.url.reveal(), DATABASE_DIRECT_URL: database.runtimeUrl.reveal() };
    await running.api.stop();
    await Promise.all([service.start('api', env), service.start('worker', env)]);
  });
  afterAll(async () => {
    await Promise.all([running.api.stop(), running.worker.stop()]);
    await pooler?.stop();
  });

  test('API and worker share five connections to Postgres, and every change is delivered once', async () => {
    await service.register();
    const ids = await makeTransfers(client, 60);
    const { done, others } = changeAll(client, ids, 'PROCESSING');
    await done;
    expect(others).toEqual({});
    await service.untilDelivered();
    const arrived = receiver.requests.map((raw) => readDelivered(raw, SECRET).transferId);
    expect(arrived.sort()).toEqual(ids.sort());
    expect([...running.api.said, ...running.worker.said]).toEqual([]);
  });

  test('doctor finds the settings of the role', async () => {
    const { stdout } = await runCommand(['doctor', '--json'], { ...service.env, ...env });
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean }[] };
    expect(checks.filter(({ check }) => check === 'settings of Postgres' || check === 'Postgres')).toEqual([
      expect.objectContaining({ check: 'Postgres', ok: true }),
    ]);
  });
});
