import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Secret } from '../secret.js';
import { type Handle, rowOf } from './database.js';
import { checkRuntimeRole, grantToRuntimeRole, namedRoles, type RoleNames } from './roles.js';
import { MIGRATE_SETTINGS, withServerSettings } from './server-settings.js';

/** The lock that Prisma's own engine takes while it migrates. */
const ADVISORY_LOCK = 72_707_369;

/** As Prisma makes it. */
const RECORDS = `
create table if not exists _prisma_migrations (
  id                  varchar(36) primary key,
  checksum            varchar(64) not null,
  finished_at         timestamptz,
  migration_name      varchar(255) not null,
  logs                text,
  rolled_back_at      timestamptz,
  started_at          timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

/**
 * Applies the pending migrations. It keeps `_prisma_migrations` as `prisma migrate deploy` does, so that either may
 * follow the other. Concurrent processes take turns.
 * @throws if a migration fails, or if a file differs from what was applied
 * @param roles the roles of the service's processes, which get their rights
 * @returns the names of the migrations that this call applied, oldest first
 */
export async function migrate(url: Secret, roles: RoleNames = {}): Promise<{ applied: string[] }> {
  const named = namedRoles(roles);
  const client = new pg.Client({
    connectionString: withServerSettings(url, MIGRATE_SETTINGS).reveal(),
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const [database] = (await client.query<{ encoding: string }>(ENCODING)).rows;
    const fault = encodingFault(database?.encoding ?? '');
    if (fault) throw new Error(fault);
    await takeTurn(client);
    for (const [role, name] of named) await checkRuntimeRole(client, role, name);
    await client.query(RECORDS);
    const recorded = await client.query<Recorded>(FINISHED);
    const applied: string[] = [];
    for (const name of await namesOfMigrations()) {
      const text = await readFile(join(prismaFolder(), 'migrations', name, 'migration.sql'), 'utf8');
      const { sql, checksum, checksums } = readMigration(text);
      const record = recorded.rows.find((row) => row.name === name);
      if (!record) {
        await apply(client, { name, sql, checksum });
        applied.push(name);
      } else if (!checksums.includes(record.checksum)) throw new Error(CHANGED(name));
    }
    for (const [role, name] of named) await grantToRuntimeRole(client, role, name);
    return { applied };
  } finally {
    await client.end();
  }
}

/**
 * A migration whose file may have other line endings than those that were applied: git on Windows, archives and editors
 * change them.
 * @returns the SQL with LF, its SHA-256, which is recorded, and that of each spelling which may be recorded already
 */
export function readMigration(text: string) {
  const [lf = '', crlf = ''] = ['\n', '\r\n'].map((end) => text.replace(/\r?\n/g, end));
  const [checksum = '', ...others] = [lf, crlf].map((sql) => createHash('sha256').update(sql).digest('hex'));
  return { sql: lf, checksum, checksums: [checksum, ...others] };
}

const ENCODING = `select current_setting('server_encoding') as encoding`;

/** The encoding of the database. */
export const readEncoding = async (db: Pick<Handle, 'query'>): Promise<string> =>
  (await rowOf<{ encoding: string }>(db, ENCODING, [])).encoding;

/**
 * What is wrong with the encoding of the database; undefined if it is UTF8. In any other, some names cannot be stored,
 * or cannot be read back.
 */
export function encodingFault(encoding: string): string | undefined {
  if (encoding === 'UTF8') return undefined;
  return `the encoding of the database is ${encoding}; make the database with UTF8 (createdb --template=template0 --encoding=UTF8)`;
}

/**
 * Takes the advisory lock of the connection. It polls instead of waiting inside Postgres: a waiting statement holds a
 * snapshot, which would block a `create index concurrently` of the process that migrates.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [ADVISORY_LOCK]);
    if (rows[0]?.got) return;
    await sleep(100);
  }
}

interface Recorded {
  name: string;
  checksum: string;
}
const FINISHED = `
select migration_name as name, checksum from _prisma_migrations where finished_at is not null and rolled_back_at is null`;

const CHANGED = (name: string) =>
  `the database has another version of the migration ${name}: its migration.sql was changed after it was applied. Restore the file; an embedded database of an unreleased version can be deleted instead (LOCAL_DIR)`;

/**
 * Runs a migration's file and records it. One message is one implicit transaction: both are committed, or a failure
 * leaves neither, and `migrate` may be run again. Postgres refuses `concurrently` in a transaction, so such a file has
 * only that statement, and its record follows. A failed try of Prisma's own CLI counts as rolled back.
 */
async function apply(client: pg.Client, { name, sql, checksum }: Recorded & { sql: string }): Promise<void> {
  const record = `
update _prisma_migrations set rolled_back_at = now()
 where migration_name = ${pg.escapeLiteral(name)} and finished_at is null and rolled_back_at is null;
insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
values ('${randomUUID()}', '${checksum}', ${pg.escapeLiteral(name)}, now(), 1)`;
  const isTransaction = !/\bconcurrently\b/i.test(sql);
  try {
    for (const message of isTransaction ? [`${sql}\n;${record}`] : [sql, record]) await client.query(message);
  } catch (error) {
    const left = isTransaction
      ? 'No changes were made'
      : 'It may have left an invalid index, which must be dropped before the next try';
    throw new Error(`migration ${name} failed: ${(error as Error).message}. ${left}`, { cause: error });
  }
}

/** The migrations of this release that the database lacks, oldest first. If there are none, the database is ready. */
export async function pendingMigrations(database: Pick<Handle, 'query'>): Promise<string[]> {
  const names = await namesOfMigrations();
  const [table] = await database.query<{ exists: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as exists`,
    [],
  );
  if (!table?.exists) return names;
  const applied = new Set((await database.query<Recorded>(FINISHED, [])).map((row) => row.name));
  return names.filter((name) => !applied.has(name));
}

/** The migrations of this release, oldest first. */
async function namesOfMigrations(): Promise<string[]> {
  const entries = await readdir(join(prismaFolder(), 'migrations'), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

/** The folder `prisma/` of this package, searched upwards from this file in `src/` or in `dist/src/`. */
export function prismaFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma');
    if (existsSync(join(candidate, 'schema.prisma'))) return candidate;
    if (dirname(folder) === folder) throw new Error(`no prisma/schema.prisma above ${import.meta.dirname}`);
  }
}
