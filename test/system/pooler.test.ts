import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { SERVICE_SETTINGS, VALUE_SETTINGS } from '../../src/platform/database/server-settings.js';
import { freePort } from '../../src/platform/free-port.js';
import { Secret } from '../../src/platform/secret.js';
import { type Receiver, startReceiver } from '../crash/receiver.js';
import { type Caller, caller, must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { atOnce, changeAll, makeTransfers } from '../support/load.js';
import { type Pooler, pgbouncer, startPooler } from '../support/pgbouncer.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { asRole, createOwnedDatabase, type OwnedDatabase } from '../support/runtime-role.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

/** The tests' server, as its superuser. */
const SERVER = new Secret(process.env.TEST_DATABASE_URL ?? '');

let database: OwnedDatabase;
let temporal: TestTemporal;
let receiver: Receiver;
beforeAll(async () => {
  [database, temporal] = await Promise.all([createOwnedDatabase(), createTestNamespace()]);
  receiver = await startReceiver(SECRET, () => 204);
  await migrate(database.ownerUrl, { runtime: database.runtimeRole });
  // As deploy/postgres/roles.sql does.
  await asRole(SERVER, async (client) => {
    for (const [name, value] of Object.entries({ ...SERVICE_SETTINGS, ...VALUE_SETTINGS })) {
      await client.query(`alter role ${database.runtimeRole} set ${name} = '${value}'`);
    }
  });
});
afterAll(async () => {
  await receiver?.close();
  await temporal?.close();
  await database?.drop();
});

/** The runtime role's URL with a name that pg_stat_activity shows. */
function named(application: string): Secret {
  const address = new URL(database.runtimeUrl.reveal());
  address.searchParams.set('application_name', application);
  return new Secret(address.href);
}

async function environment(pooled: Secret, direct: Secret): Promise<Record<string, string>> {
  const port = await freePort();
  return {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` },
    ...{ DATABASE_URL: pooled.reveal(), DATABASE_DIRECT_URL: direct.reveal() },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ MASTER_KEY: randomBytes(32).toString('base64'), ALLOW_PRIVATE_RECEIVERS: 'true', RATE_LIMIT: '1000000' },
    ...{ LOG_LEVEL: 'warn', SHUTDOWN_DELAY: '0s' },
  };
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
  const worker = startRole('worker', await environment(named('pooled'), named('direct')));
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
  const processes: RoleProcess[] = [];
  let pooler: Pooler;
  let env: Record<string, string>;
  let client: Caller;

  beforeAll(async () => {
    pooler = await startPooler(database.runtimeUrl, 5);
    env = await environment(pooler.url, database.runtimeUrl);
    const api = startRole('api', env);
    processes.push(api, startRole('worker', env));
    await api.ready;
    const { stdout } = await runCommand(['clients', 'create', '--json', '--name', 'test'], env);
    client = await caller({ auth_url: env.BASE_URL as string, base_url: env.BASE_URL as string }, JSON.parse(stdout));
  });
  afterAll(async () => {
    await Promise.all(processes.map((role) => role.stop()));
    await pooler?.stop();
  });

  test('API and worker share five connections to Postgres, and every change is delivered once', async () => {
    await must(client('POST', '/webhook-endpoints', { url: `${receiver.url}/in`, secret: SECRET }));
    const ids = await makeTransfers(client, 60);
    const { done, others } = changeAll(client, ids, 'PROCESSING');
    await done;
    expect(others).toEqual({});
    await atOnce(4, ids, async (id) => {
      await waitFor(
        'a delivery',
        async () => (await must(client('GET', `/events?transfer_id=${id}`))).data[0].deliveries.succeeded === 1,
      );
    });
    const arrived = receiver.arrivals.map(({ transfer }) => transfer);
    expect([...arrived].sort()).toEqual([...ids].sort());
    expect(processes.flatMap(({ said }) => said)).toEqual([]);
  });

  test('doctor finds the settings of the role', async () => {
    const { stdout } = await runCommand(['doctor', '--json'], env);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean }[] };
    expect(checks.filter(({ check }) => check === 'settings of Postgres' || check === 'Postgres')).toEqual([
      expect.objectContaining({ check: 'Postgres', ok: true }),
    ]);
  });
});
