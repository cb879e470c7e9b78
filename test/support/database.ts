import { hash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach } from '@jest/globals';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/platform/database/database.js';
import type { DatabaseLimits } from '../../src/platform/database/pool.js';
import { Secret } from '../../src/platform/secret.js';
import { waitFor } from './wait-for.js';

const BLOCKED = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

export interface TestDatabase extends Database {
  url: Secret;
  /** Opens a session beside the pool, which `drop` ends. */
  openSession(): Promise<pg.Client>;
  /** Waits until so many statements in this database wait for a lock; 1 by default. */
  untilBlocked(count?: number): Promise<void>;
  /** Closes the connections and drops the database. */
  drop(): Promise<void>;
}

interface DatabaseOptions {
  poolSize?: number;
  limits?: DatabaseLimits;
  migrations?: readonly Migration[];
}

/**
 * Makes a migrated database for one test on the server of `TEST_DATABASE_URL` (started by
 * test/support/global-setup.js).
 */
export async function createTestDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set: test/support/global-setup.js sets it');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const address = new URL(server);
  address.pathname = `/${name}`;
  const url = new Secret(address.href);
  if (options.migrations) {
    await onServer(server, (client) => client.query(`create database ${name}`));
    await apply(options.migrations, address.href);
  } else {
    const template = await migratedTemplate(server);
    await onServer(server, (client) => client.query(`create database ${name} template ${template} strategy file_copy`));
  }
  const database = openDatabase({
    url,
    poolSize: options.poolSize ?? 8,
    ...(options.limits && { limits: options.limits }),
  });
  return openTestHandle(url, database, () =>
    onServer(server, (client) => client.query(`drop database ${name} with (force)`)),
  );
}

/** @param url as which sessions and processes connect  @param drop drops the database, once nothing is connected */
export function openTestHandle(url: Secret, database: Database, drop: () => Promise<unknown>): TestDatabase {
  const sessions: pg.Client[] = [];
  return Object.assign(database, {
    url,
    async openSession() {
      const session = new pg.Client({ connectionString: url.reveal() });
      sessions.push(session);
      await session.connect();
      return session;
    },
    async untilBlocked(count = 1) {
      await waitFor(
        'a statement that waits for a lock',
        async () => (await database.pool.query(BLOCKED)).rows.length >= count,
      );
    },
    async drop() {
      await Promise.all([database.close(), ...sessions.map((session) => session.end())]);
      await drop();
    },
  });
}

/** A database for the tests of this file, which is dropped after them. Call it where the file is loaded. */
export async function openTestDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  afterAll(() => database.drop());
  return database;
}

/** A database for the tests of this file, which has no row before each: a copy for each would take half a second. */
export async function openEmptyDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = await openTestDatabase(options);
  const { rows } = await database.pool.query(`select string_agg(quote_ident(tablename), ',') as names
    from pg_tables where schemaname = 'public' and tablename !~ '^_'`);
  beforeEach(() => database.pool.query(`truncate ${rows[0].names}`));
  return database;
}

/** Defaults under which values read or write otherwise, for the sessions of the database that start later. */
const HOSTILE_DEFAULTS = {
  ...{ timezone: 'Asia/Kolkata', datestyle: 'SQL, DMY', intervalstyle: 'iso_8601', bytea_output: 'escape' },
  ...{ extra_float_digits: '-15', standard_conforming_strings: 'off', array_nulls: 'off', search_path: 'elsewhere' },
  ...{ default_transaction_isolation: 'serializable', client_encoding: 'LATIN1', lock_timeout: '1ms' },
};

/** Call it before the pool connects. */
export async function setHostileDefaults({ url }: Pick<TestDatabase, 'url'>): Promise<void> {
  const name = new URL(url.reveal()).pathname.slice(1);
  await onServer(url.reveal(), async (client) => {
    for (const [setting, value] of Object.entries(HOSTILE_DEFAULTS)) {
      await client.query(`alter database ${name} set ${setting} = '${value}'`);
    }
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

/** The database of this server to which the migrations are applied; each test database is a copy of it. */
async function migratedTemplate(server: string): Promise<string> {
  const migrations = readMigrations();
  const name = `template_${hash('sha256', migrations.map(({ sql }) => sql).join()).slice(0, 12)}`;
  await onServer(server, async (client) => {
    const exists = async () =>
      (await client.query('select from pg_database where datname = $1', [name])).rowCount !== 0;
    if (await exists()) return;
    // The processes of Jest make it once. The lock ends with the session.
    await client.query('select pg_advisory_lock(1)');
    if (await exists()) return;
    const draft = new URL(server);
    draft.pathname = `/${name}_draft`;
    await client.query(`drop database if exists ${name}_draft with (force)`);
    await client.query(`create database ${name}_draft`);
    await apply(migrations, draft.href);
    await client.query(`alter database ${name}_draft rename to ${name}`);
  });
  return name;
}

async function apply(migrations: readonly Migration[], url: string): Promise<void> {
  await onServer(url, async (client) => {
    for (const { sql } of migrations) await client.query(sql);
  });
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
