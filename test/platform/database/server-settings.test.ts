import { afterAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { openDatabase } from '../../../src/platform/database/database.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import {
  MIGRATE_SETTINGS,
  SERVICE_SETTINGS,
  withServerSettings,
} from '../../../src/platform/database/server-settings.js';
import { Secret } from '../../../src/platform/secret.js';
import { openTestDatabase } from '../../support/database.js';

const clients: pg.Client[] = [];
afterAll(() => Promise.all(clients.map((client) => client.end().catch(() => undefined))));
const database = await openTestDatabase();

async function connectWith(settings: Record<string, string>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: withServerSettings(database.url, settings).reveal() });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

const shown = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
  current_setting('idle_in_transaction_session_timeout') as idle, current_setting('tcp_keepalives_idle') as tcp_idle,
  current_setting('tcp_keepalives_interval') as tcp_interval, current_setting('tcp_keepalives_count') as tcp_count,
  current_setting('tcp_user_timeout') as tcp_user`;
const TCP = { tcp_idle: '30', tcp_interval: '10', tcp_count: '3', tcp_user: '1min' };

describe('Postgres has the time limits of a connection', () => {
  const service = { statement: '25s', lock: '0', idle: '30s', ...TCP };

  test.each<[string, () => Promise<unknown[]>]>([
    ['of the pool', () => database.query(shown, [])],
    ['of the hot statements', () => database.hot(shown, [])],
    ['of Prisma', () => database.prisma.$queryRawUnsafe(shown)],
  ])('%s', async (_, read) => {
    const [row] = await read();
    // The value is 0 on a server without the option and on a Unix socket.
    expect(row).toMatchObject({ ...service, tcp_user: expect.stringMatching(/^(1min|60000|0)$/) });
  });

  test('of migrate: no limit for a statement, 5 s for a lock', async () => {
    const { rows } = await (await connectWith(MIGRATE_SETTINGS)).query(shown);
    expect(rows[0]).toMatchObject({ statement: '0', lock: '5s', idle: '1min' });
  });
});

test('releases the locks of a client that vanishes in a transaction after the idle limit', async () => {
  await database.query('create table locked (id int primary key)', []);
  await database.query('insert into locked values (1)', []);
  const vanished = await connectWith({ ...SERVICE_SETTINGS, idle_in_transaction_session_timeout: '300ms' });
  // In one message, so that the limit cannot pass between the two.
  await vanished.query('begin; select 1 from locked where id = 1 for update');
  // Without the setting this statement waits for the lock until its own time limit.
  expect(await database.query('update locked set id = 2 where id = 1 returning id', [])).toEqual([{ id: 2 }]);
});

test('migrate fails after 5 s without a lock, so that no statement waits behind it', async () => {
  await database.query('drop schema public cascade', []);
  await database.query('create schema public', []);
  const holder = await connectWith(SERVICE_SETTINGS);
  await holder.query('begin');
  await holder.query('create table clients (id int)');
  // Postgres makes the second table with this name wait for the transaction of the first.
  await expect(migrate(database.url)).rejects.toThrow(/lock timeout/);
  await holder.query('rollback');
  expect((await migrate(database.url)).applied.length).toBeGreaterThan(0);
});

describe('the startup options', () => {
  const optionsOf = (url: string) =>
    new URL(withServerSettings(new Secret(url), { a: '1s', b: '2' }).reveal()).searchParams.get('options');

  test("precede the operator's options, which take precedence, but not over how values read", async () => {
    expect(optionsOf('postgresql://host/db?options=-c%20a%3D5s&sslmode=require')).toMatch(
      /^-c a=1s -c b=2 -c a=5s -c timezone=UTC .*-c default_transaction_isolation=read\\ committed$/,
    );
    const own = new URL(database.url.reveal());
    own.searchParams.set('options', '-c datestyle=German -c search_path=elsewhere -c statement_timeout=7s');
    const opened = openDatabase({ url: new Secret(own.href.replaceAll('+', '%20')), poolSize: 2 });
    const [row] = await opened
      .query(
        `select current_setting('datestyle') as datestyle, current_setting('search_path') as path,
                current_setting('statement_timeout') as timeout`,
        [],
      )
      .finally(() => opened.close());
    expect(row).toEqual({ datestyle: 'ISO, MDY', path: 'public', timeout: '7s' });
    const client = await connectWith({ statement_timeout: '1s' });
    expect((await client.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '1s' }]);
  });
});
