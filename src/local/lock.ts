import { readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
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
  const mine = JSON.stringify(recordProcess(process.pid));
  for (;;) {
    const last = highest(folder);
    const holder = runningHolder(folder, last);
    if (holder) {
      throw new LockedError(
        `the embedded stack under ${folder} is already running as process ${holder.pid}; stop it, or set another LOCAL_DIR`,
      );
    }
    if (!claim(folder, last + 1, mine) || highest(folder) !== last + 1) continue;
    for (const older of generations(folder)) if (older <= last) rmSync(join(folder, `lock.${older}`), { force: true });
    return;
  }
}

/** The running process that holds the lock of `folder`, if any. */
export function lockHolder(folder: string): ProcessRecord | undefined {
  return runningHolder(folder, highest(folder));
}

/** Releases the lock of this process, which may go on running. */
export function releaseLock(folder: string): void {
  const last = highest(folder);
  if (runningHolder(folder, last)?.pid === process.pid) claim(folder, last + 1, 'released');
}

function generations(folder: string): number[] {
  try {
    return readdirSync(folder).flatMap((name) => Number(NAME.exec(name)?.[1] ?? []));
  } catch {
    return [];
  }
}

const highest = (folder: string) => Math.max(0, ...generations(folder));

function runningHolder(folder: string, generation: number): ProcessRecord | undefined {
  try {
    const holder = JSON.parse(readlinkSync(join(folder, `lock.${generation}`))) as ProcessRecord;
    return isRunning(holder) ? holder : undefined;
  } catch {
    // Released, or not there.
    return undefined;
  }
}

/** A link is made with its content in one step. False if the generation exists. */
function claim(folder: string, generation: number, content: string): boolean {
  try {
    symlinkSync(content, join(folder, `lock.${generation}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
