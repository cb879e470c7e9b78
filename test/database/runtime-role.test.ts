import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/database/database.js';
import { migrate } from '../../src/database/migrate.js';
import { readRoleRights } from '../../src/database/runtime-role.js';
import { Secret } from '../../src/secret.js';
import { asRole, createOwnedDatabase, type OwnedDatabase } from '../support/runtime-role.js';

let database: OwnedDatabase;
beforeAll(async () => {
  database = await createOwnedDatabase();
  await migrate(database.ownerUrl, database.runtimeRole);
});
afterAll(() => database.drop());

const PERMISSION_DENIED = '42501';
const ENTRY = `insert into audit_entries (id, at, actor, action, target, details)
               values (gen_random_uuid(), now(), 'cli:test@test', 'clients.revoke', null, '{}')`;

/** The rights of the runtime role on each table, as letters of `select insert update delete truncate`. */
const READ_RIGHTS = `
select relname as table, string_agg(left(name, 1), '' order by place) filter (where has_table_privilege($1::name, c.oid, name)) as rights
  from pg_class c, unnest(array['select', 'insert', 'update', 'delete', 'truncate']) with ordinality as r (name, place)
 where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') group by 1`;

test('the runtime role reads and writes rows of every table, adds audit entries, and reads what is migrated', async () => {
  const { rows } = await asRole(database.ownerUrl, (client) => client.query(READ_RIGHTS, [database.runtimeRole]));
  const rights = Object.fromEntries(rows.map(({ table, rights }) => [table, rights]));
  const { audit_entries, _prisma_migrations, ...others } = rights;
  expect({ audit_entries, _prisma_migrations }).toEqual({ audit_entries: 'si', _prisma_migrations: 's' });
  expect(Object.keys(others).length).toBeGreaterThan(10);
  expect(new Set(Object.values(others))).toEqual(new Set(['siud']));
});

test('it adds an audit entry', () => asRole(database.runtimeUrl, (client) => client.query(ENTRY)));

test.each([
  `update audit_entries set actor = 'nobody'`,
  'delete from audit_entries',
  'truncate audit_entries',
  'truncate clients',
  'delete from _prisma_migrations',
  'create table other (id int)',
  'create schema other',
  'create index on events (id)',
  'alter table events add column other int',
  'alter table audit_entries disable trigger all',
  'drop table audit_entries',
])('Postgres refuses `%s` of the runtime role', async (statement) => {
  await expect(asRole(database.runtimeUrl, (client) => client.query(statement))).rejects.toMatchObject({
    code: PERMISSION_DENIED,
  });
});

test('a table that the owner makes between two migrations, such as a partition, has the rights at once', async () => {
  await asRole(database.ownerUrl, (client) => client.query('create table later (id serial)'));
  await asRole(database.runtimeUrl, async (client) => {
    await client.query('insert into later default values');
    await client.query('delete from later');
  });
});

test('a second `migrate` takes rights on the audit back that were given by hand', async () => {
  const change = `update audit_entries set target = null`;
  await asRole(database.ownerUrl, (client) => client.query(`grant all on audit_entries to ${database.runtimeRole}`));
  await asRole(database.runtimeUrl, (client) => client.query(change));
  await migrate(database.ownerUrl, database.runtimeRole);
  await expect(asRole(database.runtimeUrl, (client) => client.query(change))).rejects.toMatchObject({
    code: PERMISSION_DENIED,
  });
});

describe('`migrate` fails before it changes anything if the role', () => {
  test.each([
    ['does not exist', () => 'no_such_role', /^DATABASE_RUNTIME_ROLE: the role no_such_role does not exist/],
    [
      'is the role that migrates',
      () => new URL(database.ownerUrl.reveal()).username,
      /is the role that migrates, or a member of it/,
    ],
    ['is a superuser', () => new URL(process.env.TEST_DATABASE_URL ?? '').username, /is a superuser/],
  ])('%s', async (_, role, message) => {
    await expect(migrate(database.ownerUrl, role())).rejects.toThrow(message);
  });
});

describe('the rights of the connected role', () => {
  const rightsOf = async (url: Secret) => {
    const connected = openDatabase({ url, poolSize: 2 });
    return readRoleRights(connected).finally(() => connected.close());
  };

  test('exceed those of a running service in nothing for the runtime role', async () => {
    expect(await rightsOf(database.runtimeUrl)).toEqual({ role: database.runtimeRole, excess: [] });
  });

  test('name what only the owner may do', async () => {
    expect((await rightsOf(database.ownerUrl)).excess).toEqual([
      'owns the tables',
      'may make tables',
      'may change and remove audit entries',
    ]);
  });

  test('name a superuser', async () => {
    const address = new URL(process.env.TEST_DATABASE_URL ?? '');
    address.pathname = new URL(database.ownerUrl.reveal()).pathname;
    expect((await rightsOf(new Secret(address.href))).excess[0]).toBe('is a superuser');
  });
});
