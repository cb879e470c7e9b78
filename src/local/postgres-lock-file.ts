import { chownSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf } from './process-record.js';

/**
 * Makes a stale lock file of Postgres name this process. After `kill -9` the lock file still exists. Postgres refuses
 * to start if the file's pid is a process of its user: a zombie, or another process that has the same pid now (after a
 * reboot, or in a container). Postgres treats the pid of its parent as stale, and then checks whether any process still
 * uses the shared memory that the file names. Removing the file would skip that check.
 */
export function adoptLockFile(data: string): void {
  const file = join(data, 'postmaster.pid');
  const [pid, ...rest] = read(file).split('\n');
  if (!pid || commandOf(Number(pid)).includes(data)) return;
  try {
    const { uid, gid } = statSync(file);
    const draft = `${file}.new`;
    writeFileSync(draft, [process.pid, ...rest].join('\n'), { mode: 0o600 });
    chownSync(draft, uid, gid);
    // A rename is atomic. If the file is truncated, on a full disk, Postgres assumes that another server is starting.
    renameSync(draft, file);
  } catch {
    // The file stays as it is: Postgres reports the problem and is started again.
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
