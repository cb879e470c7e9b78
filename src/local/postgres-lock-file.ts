import { chownSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf } from './process-record.js';

/**
 * After `kill -9` Postgres's own lock file is still there, and Postgres refuses to start where the number in it is a
 * process of its user: one that nobody has buried yet, or another that was given this number since (after a reboot, in a
 * container). Then the file is made ours: Postgres takes the number of its parent for a leftover, and goes on to look
 * whether anything still uses the memory that the file names. Removing the file would spare it that look.
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
    // In one step: of a file cut short, on a full disk, Postgres would think that another is just starting.
    renameSync(draft, file);
  } catch {
    // As it was: Postgres says what is wrong with it, and is started again.
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
