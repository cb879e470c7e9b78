import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from '@jest/globals';
import { migrate } from '../../src/platform/database/migrate.js';
import { SERVICE_SETTINGS, VALUE_SETTINGS } from '../../src/platform/database/server-settings.js';
import { Secret } from '../../src/platform/secret.js';
import { asRole } from '../support/runtime-role.js';

// deploy/postgres/roles.sql, which docker-compose.yml runs before each start.

const FILE = 'deploy/postgres/roles.sql';
const server = new URL(process.env.TEST_DATABASE_URL ?? '');
const id = `roles_${randomBytes(6).toString('hex')}`;
const names = {
  ...{ owner: `${id}_owner`, runtime: `${id}_runtime`, temporal: `${id}_temporal` },
  ...{ api: `${id}_api`, worker: `${id}_worker` },
  ...{ database: id, temporal_database: `${id}_temporal` },
};
const visibility = `${names.temporal_database}_visibility`;
const PASSWORDS = {
  DATABASE_OWNER_PASSWORD: `o'wner "x"`,
  DATABASE_RUNTIME_PASSWORD: 'runtime',
  TEMPORAL_DATABASE_PASSWORD: 'temporal',
};

const hasPsql = spawnSync('psql', ['--version']).status === 0;
const withPsql = hasPsql ? describe : describe.skip;

/** Runs the script as the superuser of the tests' server. @returns standard error, which is empty when all went well */
function makeRoles(passwords: Record<string, string> = PASSWORDS): string {
  const { status, stderr } = spawnSync(
    'psql',
    ['--no-psqlrc', `--file=${FILE}`, ...Object.entries(names).flatMap(([name, value]) => ['-v', `${name}=${value}`])],
    {
      encoding: 'utf8',
      env: {
        ...{ PATH: process.env.PATH, PGHOST: server.hostname, PGPORT: server.port, PGDATABASE: 'postgres' },
        ...{ PGUSER: server.username, PGPASSWORD: server.password, ...passwords },
      },
    },
  );
  return status === 0 ? stderr : `${status}: ${stderr}`;
}

function urlOf(username: string, password: string, database = names.database): Secret {
  const address = new URL(server.href);
  Object.assign(address, { username, password: encodeURIComponent(password), pathname: `/${database}` });
  return new Secret(address.href);
}
const superuser = (database: string) => urlOf(server.username, server.password, database);

test('the runtime role has the settings that the service sends itself where no pooler is in between', () => {
  const limits = [...readFileSync(FILE, 'utf8').matchAll(/^alter role :"runtime" set (\w+) = '([^']+)';$/gm)];
  expect(Object.fromEntries(limits.map(([, name, value]) => [name, value]))).toEqual({
    ...SERVICE_SETTINGS,
    ...VALUE_SETTINGS,
  });
});

withPsql('psql (Debian: postgresql-client)', () => {
  afterAll(() =>
    asRole(superuser('postgres'), async (client) => {
      for (const name of [names.database, names.temporal_database, visibility]) {
        await client.query(`drop database if exists ${name} with (force)`);
      }
      for (const role of [names.owner, names.runtime, names.api, names.worker, names.temporal])
        await client.query(`drop role if exists ${role}`);
    }),
  );

  test('makes roles and databases on a server that has a database of a superuser from before, and again', async () => {
    await asRole(superuser('postgres'), (client) => client.query(`create database ${names.database}`));
    await asRole(superuser(names.database), (client) =>
      client.query(`create table before (id serial); create type mood as enum ('good')`),
    );
    expect([makeRoles(), makeRoles()]).toEqual(['', '']);
    const owner = urlOf(names.owner, PASSWORDS.DATABASE_OWNER_PASSWORD);
    await asRole(owner, (client) => client.query(`alter table before add column m mood; drop table before`));
  });

  test('with passwords for them, APIs and workers get their own roles with the same time limits', async () => {
    const own = { DATABASE_API_PASSWORD: 'api', DATABASE_WORKER_PASSWORD: 'worker' };
    expect(makeRoles({ ...PASSWORDS, ...own })).toBe('');
    const { runtime, api, worker } = names;
    await migrate(urlOf(names.owner, PASSWORDS.DATABASE_OWNER_PASSWORD), { runtime, api, worker });
    for (const name of ['api', 'worker'] as const) {
      await asRole(urlOf(names[name], name), async (client) => {
        const { rows } = await client.query(`select current_setting('statement_timeout') as limit`);
        expect(rows).toEqual([{ limit: '25s' }]);
        await client.query('select from transfers');
      });
    }
  });

  test("Temporal's role owns both of its databases, and cannot connect to the service's, nor the others to them", async () => {
    for (const database of [names.temporal_database, visibility]) {
      const temporal = urlOf(names.temporal, PASSWORDS.TEMPORAL_DATABASE_PASSWORD, database);
      await asRole(temporal, (client) => client.query('create table executions (id int); create extension btree_gin'));
      const runtime = urlOf(names.runtime, PASSWORDS.DATABASE_RUNTIME_PASSWORD, database);
      await expect(asRole(runtime, (client) => client.query('select 1'))).rejects.toMatchObject({ code: '42501' });
    }
    const service = urlOf(names.temporal, PASSWORDS.TEMPORAL_DATABASE_PASSWORD);
    await expect(asRole(service, (client) => client.query('select 1'))).rejects.toMatchObject({ code: '42501' });
    expect(makeRoles()).toBe('');
  });
});
