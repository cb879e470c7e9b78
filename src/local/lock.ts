import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, type ProcessRecord, recordProcess } from './child.js';

/** Another running process holds the lock of the folder. The message names the process. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

const NAME = /^lock\.(\d+)$/;

/**
 * Takes the lock of `folder` for this process. The lock has generations `lock.1`, `lock.2`, …, of which the highest is
 * valid. A process that finds the holder dead makes the next generation, which the file system allows to one process
 * only. A process that ends leaves its generation behind, so that a number is never used twice.
 * @throws LockedError
 */
export function takeLock(folder: string): void {
  const mine = recordProcess(process.pid);
  const draft = join(folder, `lock-of-${process.pid}`);
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    for (;;) {
      const last = highest(folder);
      const holder = last === 0 ? undefined : readHolder(folder, last);
      if (holder && isRunning(holder)) {
        throw new LockedError(
          `the embedded stack under ${folder} is already running as process ${holder.pid}; stop it, or set another LOCAL_DIR`,
        );
      }
      if (!claim(draft, join(folder, `lock.${last + 1}`))) continue;
      if (highest(folder) !== last + 1) continue;
      for (const older of generations(folder))
        if (older <= last) rmSync(join(folder, `lock.${older}`), { force: true });
      return;
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The running process that holds the lock of `folder`, if any. */
export function lockHolder(folder: string): ProcessRecord | undefined {
  const last = highest(folder);
  const holder = last === 0 ? undefined : readHolder(folder, last);
  return holder && isRunning(holder) ? holder : undefined;
}

/** Releases the lock of this process, which may go on running. */
export function releaseLock(folder: string): void {
  const last = highest(folder);
  if (readHolder(folder, last)?.pid === process.pid) writeFileSync(join(folder, `lock.${last}`), '');
}

function generations(folder: string): number[] {
  try {
    return readdirSync(folder).flatMap((name) => Number(NAME.exec(name)?.[1] ?? []));
  } catch {
    return [];
  }
}

const highest = (folder: string) => Math.max(0, ...generations(folder));

function readHolder(folder: string, generation: number): ProcessRecord | undefined {
  try {
    const text = readFileSync(join(folder, `lock.${generation}`), 'utf8');
    return text === '' ? undefined : (JSON.parse(text) as ProcessRecord);
  } catch {
    return undefined;
  }
}

/** A hard link is atomic, and the file has its content from the start. False if the generation exists. */
function claim(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
