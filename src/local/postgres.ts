import { execFile } from 'node:child_process';
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Secret } from '../secret.js';
import { type Child, startChild } from './child.js';
import { type OsUser, postgresUser, provideBinaries, provideDataFolder } from './postgres-folders.js';
import { adoptLockFile } from './postgres-lock-file.js';
import { POSTGRES_NAME, postgresUrl } from './postgres-url.js';
import type { ProcessRecord } from './process-record.js';

export interface PostgresPlan {
  localDir: string;
  port: number;
  password: Secret;
  /** Further `-c` settings, such as `fsync=off` for tests. */
  settings?: readonly string[];
  onStart(record: ProcessRecord): void;
  progress(line: string): void;
  signal: AbortSignal | undefined;
}

/** Starts Postgres on 127.0.0.1 with its data under `localDir`. Makes the data if there is none. */
export async function startPostgres(plan: PostgresPlan): Promise<Child> {
  const user = postgresUser();
  const bin = provideBinaries(user);
  const data = await prepareData(plan, bin, user);
  const child = await startChild({
    name: 'Postgres',
    command: join(bin, 'postgres'),
    args: ['-D', data, '-p', String(plan.port), ...settings(plan)],
    user,
    logFile: join(plan.localDir, 'postgres.log'),
    // Fast shutdown: Postgres ends its sessions and needs no recovery at the next start.
    stopSignal: 'SIGINT',
    beforeStart: () => adoptLockFile(data),
    ping: () => withClient(postgresUrl(plan.port, plan.password, 'postgres'), (client) => client.query('select 1')),
    onStart: plan.onStart,
    progress: plan.progress,
    signal: plan.signal,
  });
  try {
    await createDatabase(plan);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return child;
}

function settings(plan: PostgresPlan): string[] {
  const all = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    ...(plan.settings ?? []),
  ];
  return all.flatMap((setting) => ['-c', setting]);
}

/** Runs initdb in a draft folder and renames the folder when it is complete. */
async function prepareData(plan: PostgresPlan, bin: string, user: OsUser | undefined): Promise<string> {
  const folder = provideDataFolder(plan.localDir, user);
  const data = join(folder, 'data');
  if (existsSync(join(data, 'PG_VERSION'))) return data;

  plan.progress('creating the database');
  const draft = join(folder, 'data.new');
  const passwordFile = join(folder, 'password');
  rmSync(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, plan.password.reveal(), { mode: 0o600, flag: 'wx' });
  try {
    if (user) chownSync(passwordFile, user.uid, user.gid);
    await promisify(execFile)(
      join(bin, 'initdb'),
      [
        '-D',
        draft,
        '-U',
        POSTGRES_NAME,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ],
      { ...user, cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' }, ...(plan.signal && { signal: plan.signal }) },
    );
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new Error(`initdb failed: ${said || (error as Error).message}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, data);
  return data;
}

async function createDatabase(plan: PostgresPlan): Promise<void> {
  await withClient(postgresUrl(plan.port, plan.password, 'postgres'), async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [POSTGRES_NAME]);
    if (rowCount === 0) await client.query(`create database ${POSTGRES_NAME}`);
  });
}

async function withClient(url: Secret, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url.reveal(), connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end();
  }
}
