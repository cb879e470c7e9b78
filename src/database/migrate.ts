import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MigrationList } from '@prisma/schema-engine-wasm';
import pg from 'pg';
import type { Secret } from '../secret.js';
import type { Handle } from './database.js';
import { checkRuntimeRole, grantToRuntimeRole, namedRoles, type RoleNames } from './runtime-role.js';
import { withSchemaEngine } from './schema-engine.js';
import { MIGRATE_SETTINGS, withServerSettings } from './server-settings.js';

/** The number is used for nothing else. Prisma's own engine takes 72707369 while it works. */
const ADVISORY_LOCK = 7_220_019_421;
export const NO_FILTERS = { externalTables: [], externalEnums: [] };

/**
 * Applies the pending migrations without a download. It keeps `_prisma_migrations` as `prisma migrate deploy` does, so
 * that either may follow the other. Concurrent processes take turns.
 * @param roles the roles of the service's processes, which get their rights
 * @returns the names of the migrations that this call applied, oldest first
 */
export async function migrate(url: Secret, roles: RoleNames = {}): Promise<{ applied: string[] }> {
  const named = namedRoles(roles);
  const address = withServerSettings(url, MIGRATE_SETTINGS);
  return withTurn(address, async (client) => {
    for (const [role, name] of named) await checkRuntimeRole(client, role, name);
    const result = await applyMigrations(client, address);
    for (const [role, name] of named) await grantToRuntimeRole(client, role, name);
    return result;
  });
}

async function applyMigrations(client: pg.Client, address: Secret): Promise<{ applied: string[] }> {
  const folder = prismaFolder();
  const schema = await readFile(join(folder, 'schema.prisma'), 'utf8');
  const migrationsList = await readMigrations(folder);
  return withSchemaEngine(address, schema, async (engine) => {
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: NO_FILTERS });
    return { applied: appliedMigrationNames };
  }).catch(async (error: unknown) => {
    await forgetLockTimeout(client).catch(() => undefined);
    throw error;
  });
}

/**
 * A migration whose lock times out is rolled back as a whole, since its file is one implicit transaction. Prisma
 * records the migration as failed and would apply no further migration until an operator resolves the failure. This
 * marks the migration as rolled back instead.
 */
async function forgetLockTimeout(client: pg.Client): Promise<void> {
  await client.query(
    `update _prisma_migrations set rolled_back_at = now()
     where finished_at is null and rolled_back_at is null and logs like '%canceling statement due to lock timeout%'`,
  );
}

/** The migrations of this release that the database lacks, oldest first. If there are none, the database is ready. */
export async function pendingMigrations(database: Pick<Handle, 'query'>): Promise<string[]> {
  const names = await migrationNames(prismaFolder());
  const [table] = await database.query<{ exists: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as exists`,
    [],
  );
  if (!table?.exists) return names;
  const rows = await database.query<{ name: string }>(
    'select migration_name as name from _prisma_migrations where finished_at is not null and rolled_back_at is null',
    [],
  );
  const applied = new Set(rows.map((row) => row.name));
  return names.filter((name) => !applied.has(name));
}

/**
 * Holds the advisory lock on its own connection during `work`. It polls instead of waiting inside Postgres: a waiting
 * statement holds a snapshot, which would block a `create index concurrently` of the process that migrates.
 */
async function withTurn<T>(url: Secret, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url.reveal(), connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const tryLock = async () =>
      (await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [ADVISORY_LOCK])).rows[0]?.got;
    while (!(await tryLock())) await sleep(100);
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The folder `prisma/` of this package, searched upwards from this file in `src/` or in `dist/src/`. */
export function prismaFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma');
    if (existsSync(join(candidate, 'schema.prisma'))) return candidate;
    if (dirname(folder) === folder) throw new Error(`no prisma/schema.prisma above ${import.meta.dirname}`);
  }
}

async function migrationNames(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'migrations'), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** The migrations in the form that the schema engine takes. */
export async function readMigrations(folder: string): Promise<MigrationList> {
  const baseDir = join(folder, 'migrations');
  const names = await migrationNames(folder);
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: await readFile(join(baseDir, 'migration_lock.toml'), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.map(async (path) => ({
        path,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok' as const, value: await readFile(join(baseDir, path, 'migration.sql'), 'utf8') },
        },
      })),
    ),
  };
}
