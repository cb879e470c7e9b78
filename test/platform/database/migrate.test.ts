import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Database, openDatabase } from '../../../src/platform/database/database.js';
import { migrate, pendingMigrations, readMigration } from '../../../src/platform/database/migrate.js';
import { Secret } from '../../../src/platform/secret.js';

const names = readdirSync('prisma/migrations', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

let server: pg.Client;
let name: string;
let url: Secret;
let database: Database;

beforeEach(async () => {
  server = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await server.connect();
  name = `migrate_${randomBytes(6).toString('hex')}`;
  await server.query(`create database ${name}`);
  const address = new URL(process.env.TEST_DATABASE_URL ?? '');
  address.pathname = `/${name}`;
  url = new Secret(address.href);
  database = openDatabase({ url, poolSize: 2 });
});

afterEach(async () => {
  await database.close();
  await server.query(`drop database ${name} with (force)`);
  await server.end();
});

test('applies every migration to an empty database in order, and none in a second run', async () => {
  expect(await pendingMigrations(database)).toEqual(names);
  expect(await migrate(url)).toEqual({ applied: names });
  expect(await pendingMigrations(database)).toEqual([]);
  expect(await migrate(url)).toEqual({ applied: [] });
  expect(await database.prisma.client.count()).toBe(0);
});

test.each(['LATIN1', 'SQL_ASCII'])('refuses a database whose encoding is %s', async (encoding) => {
  const other = `${name}_other`;
  await server.query(`create database ${other} template template0 encoding '${encoding}' locale 'C'`);
  const address = new URL(url.reveal());
  address.pathname = `/${other}`;
  try {
    await expect(migrate(new Secret(address.href))).rejects.toThrow(`the encoding of the database is ${encoding};`);
  } finally {
    await server.query(`drop database ${other} with (force)`);
  }
});

test('applies each migration once if several processes migrate at once', async () => {
  const results = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  expect(results.flatMap((result) => result.applied)).toEqual(names);
});

test('a failed migration leaves neither its changes nor a record, and may be run again', async () => {
  await database.pool.query('create table events (id int)');
  await expect(migrate(url)).rejects.toThrow(
    `migration ${names[0]} failed: relation "events" already exists. No changes were made`,
  );
  const { rows } = await database.pool.query(
    `select (select count(*)::int from _prisma_migrations) as records, to_regclass('clients') as earlier`,
  );
  expect(rows).toEqual([{ records: 0, earlier: null }]);
  await database.pool.query('drop table events');
  expect(await migrate(url)).toEqual({ applied: names });
});

test('refuses a migration whose file was changed after it was applied', async () => {
  await migrate(url);
  await database.pool.query(`update _prisma_migrations set checksum = 'other' where migration_name = $1`, [names[0]]);
  await expect(migrate(url)).rejects.toThrow(`the database has another version of the migration ${names[0]}`);
});

test('takes a file with other line endings for the same migration, whichever were applied', async () => {
  const { readFileSync } = await import('node:fs');
  await migrate(url);
  for (const name of names) {
    const lf = readMigration(readFileSync(`prisma/migrations/${name}/migration.sql`, 'utf8'));
    const crlf = readMigration(lf.sql.replaceAll('\n', '\r\n'));
    expect(crlf).toEqual(lf);
    const [, checksum] = lf.checksums;
    await database.pool.query('update _prisma_migrations set checksum = $2 where migration_name = $1', [
      name,
      checksum,
    ]);
  }
  expect(await migrate(url)).toEqual({ applied: [] });
});

test("a failed try of Prisma's own CLI counts as rolled back once the migration is applied", async () => {
  await database.pool.query('create table events (id int)');
  await expect(migrate(url)).rejects.toThrow();
  await database.pool.query(
    `insert into _prisma_migrations (id, checksum, migration_name, logs) values ('1', '', $1, 'failed')`,
    [names[0]],
  );
  await database.pool.query('drop table events');
  expect(await migrate(url)).toEqual({ applied: names });
  const { rows } = await database.pool.query('select logs from _prisma_migrations where rolled_back_at is not null');
  expect(rows).toEqual([{ logs: 'failed' }]);
});
