import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/database/database.js';
import { Secret } from '../../src/secret.js';

export interface TestDatabase extends Database {
  url: Secret;
  /** Closes the connections and drops the database. */
  drop(): Promise<void>;
}

/**
 * Makes a migrated database for one test on the server of `TEST_DATABASE_URL` (started by
 * test/support/global-setup.js).
 */
export async function createTestDatabase(
  options: { poolSize?: number; migrations?: readonly Migration[] } = {},
): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set: test/support/global-setup.js sets it');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, (client) => client.query(`create database ${name}`));
  const address = new URL(server);
  address.pathname = `/${name}`;
  const url = new Secret(address.href);
  await onServer(address.href, async (client) => {
    for (const { sql } of options.migrations ?? readMigrations()) await client.query(sql);
  });
  const database = openDatabase({ url, poolSize: options.poolSize ?? 8 });
  return Object.assign(database, {
    url,
    async drop() {
      await database.close();
      await onServer(server, (client) => client.query(`drop database ${name} with (force)`));
    },
  });
}

export interface Migration {
  name: string;
  sql: string;
}

/** The migrations, oldest first. */
export function readMigrations(): Migration[] {
  const folder = join(import.meta.dirname, '../../prisma/migrations');
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => ({ name, sql: readFileSync(join(folder, name, 'migration.sql'), 'utf8') }));
}

async function onServer(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
