import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../../src/platform/database/database.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { findRoleFault, RUNTIME_ROLES } from '../../../src/platform/database/roles.js';
import type { Secret } from '../../../src/platform/secret.js';
import { asRole, createOwnedDatabase, type OwnedDatabase } from '../../support/runtime-role.js';

let database: OwnedDatabase;
beforeAll(async () => {
  database = await createOwnedDatabase();
  await migrate(database.ownerUrl, database.roles);
});
afterAll(() => database.drop());

const PERMISSION_DENIED = '42501';
const ENTRY = `insert into audit_entries (id, at, actor, action, target, details)
               values (gen_random_uuid(), now(), 'cli:test@test', 'clients.revoke', null, '{}')`;

/** The rights of a role on each table, as letters of `select insert update delete truncate`. */
const READ_RIGHTS = `
select relname as table, string_agg(left(name, 1), '' order by place) filter (where has_table_privilege($1::name, c.oid, name)) as rights
  from pg_class c, unnest(array['select', 'insert', 'update', 'delete', 'truncate']) with ordinality as r (name, place)
 where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') group by 1`;

async function rightsOn(role: string): Promise<Record<string, string>> {
  const { rows } = await asRole(database.ownerUrl, (client) => client.query(READ_RIGHTS, [role]));
  return Object.fromEntries(rows.map(({ table, rights }) => [table, rights]));
}

test("the runtime role reads and writes rows, except records and the owner's tables", async () => {
  const { _prisma_migrations, audit_entries, transfers, transfer_status_history, ...others } = await rightsOn(
    database.runtimeRole,
  );
  expect({ _prisma_migrations, audit_entries, transfers, transfer_status_history }).toEqual({
    ...{ _prisma_migrations: 's', audit_entries: 's', transfers: 'si', transfer_status_history: 'si' },
  });
  const { clients, client_secrets, webhook_endpoints, events, ...rest } = others;
  expect([clients, client_secrets, webhook_endpoints, events]).toEqual(['siu', 'siu', 'siu', 'sid']);
  expect(Object.keys(rest).length).toBeGreaterThan(10);
  expect(new Set(Object.values(rest))).toEqual(new Set(['siud']));
});

test('an API does not write what only workers write, and a worker not what only APIs and commands write', async () => {
  const [api, worker] = [await rightsOn(database.roles.api), await rightsOn(database.roles.worker)];
  const rights = (table: string) => [api[table], worker[table]];
  for (const table of ['attempts', 'endpoint_hours', 'workers']) {
    expect(rights(table)).toEqual(['s', 'siud']);
  }
  for (const table of ['idempotency_keys', 'console_sessions', 'console_codes', 'apis']) {
    expect(rights(table)).toEqual(['siud', 'sd']);
  }
  for (const table of ['clients', 'client_secrets']) expect(rights(table)).toEqual(['si', 's']);
  expect(rights('signing_keys')).toEqual(['si', 's']);
  expect(rights('transfers')).toEqual(['si', 's']);
  expect(rights('events')).toEqual(['si', 'sid']);
});

test('it adds an audit entry, which has its name and no other', async () => {
  const { rows } = await asRole(database.runtimeUrl, (client) =>
    client.query(`${ENTRY} returning database_role as role`),
  );
  expect(rows).toEqual([{ role: database.runtimeRole }]);
  const forged = ENTRY.replace('details)', 'details, database_role)').replace(`'{}')`, `'{}', 'somebody')`);
  await expect(asRole(database.runtimeUrl, (client) => client.query(forged))).rejects.toMatchObject({
    code: PERMISSION_DENIED,
  });
});

test.each([
  'update transfers set amount_value = 1',
  `update transfers set destination_account = 'mine'`,
  `update transfer_status_history set status = 'COMPLETED'`,
  `update audit_entries set actor = 'nobody'`,
  'truncate audit_entries',
  'create table other (id int)',
  'alter table events add column other int',
  'alter table audit_entries disable trigger all',
  'drop table audit_entries',
])('Postgres refuses `%s` of the runtime role', async (statement) => {
  await expect(asRole(database.runtimeUrl, (client) => client.query(statement))).rejects.toMatchObject({
    code: PERMISSION_DENIED,
  });
});

test.each([
  ['api', `update events set body = ''`],
  ['api', `update clients set scopes = '{operator}'`],
  ['api', `update client_secrets set hash = ''`],
  ['api', `update clients set erased_at = now()`],
  ['worker', `update idempotency_keys set body = ''`],
  ['worker', `update clients set scopes = '{operator}'`],
  ['worker', `update events set body = ''`],
] as const)('Postgres refuses the role of the %s `%s`', async (role, statement) => {
  await expect(asRole(database.urls[role], (client) => client.query(statement))).rejects.toMatchObject({
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

test('a second `migrate` revokes manually granted rights on the audit', async () => {
  const change = `update audit_entries set target = null`;
  await asRole(database.ownerUrl, (client) => client.query(`grant all on audit_entries to ${database.runtimeRole}`));
  await asRole(database.runtimeUrl, (client) => client.query(change));
  await migrate(database.ownerUrl, database.roles);
  await expect(asRole(database.runtimeUrl, (client) => client.query(change))).rejects.toMatchObject({
    code: PERMISSION_DENIED,
  });
});

describe('`migrate` fails before it changes anything if the role', () => {
  test.each([
    ['does not exist', () => 'no_such_role'],
    ['is the role that migrates', () => new URL(database.ownerUrl.reveal()).username],
    ['is a superuser', () => new URL(process.env.TEST_DATABASE_URL ?? '').username],
  ])('%s', async (_, role) => {
    await expect(migrate(database.ownerUrl, { runtime: role() })).rejects.toThrow(
      `DATABASE_RUNTIME_ROLE: ${role()} must exist, and be neither a superuser nor a member of the role that migrates`,
    );
  });
});

describe('the rights of the connected role', () => {
  const faultOf = async (url: Secret) => {
    const connected = openDatabase({ url, poolSize: 2 });
    return findRoleFault(connected).finally(() => connected.close());
  };

  test('never exceed what a running process needs, for its own role', async () => {
    for (const role of RUNTIME_ROLES) {
      expect(await faultOf(database.urls[role])).toBe(false);
    }
  });

  test('name what only the owner may do', async () => {
    expect(await faultOf(database.ownerUrl)).toMatch(
      / owns the tables, may make tables, may remove or change audit entries, transfers and their history; run the service/,
    );
  });
});
