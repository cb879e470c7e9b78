import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, type ProcessRecord, recordProcess } from './process-record.js';

/** The folder belongs to a process that runs. The message names it. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

const NAME = /^lock\.(\d+)$/;

/**
 * Makes this process the one that runs in `folder`. Generations `lock.1`, `lock.2`, …: the highest counts; who finds its
 * holder dead makes the next one, which the file system allows to one process only. They are left behind at the end, so
 * that a number is never used twice.
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
          `the embedded stack under ${folder} runs already, as process ${holder.pid}; stop that, or give another LOCAL_DIR`,
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

/** The process that runs in `folder`; undefined: none does. */
export function lockHolder(folder: string): ProcessRecord | undefined {
  const last = highest(folder);
  const holder = last === 0 ? undefined : readHolder(folder, last);
  return holder && isRunning(holder) ? holder : undefined;
}

/** Lets the next one in, though this process goes on. */
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

/** Atomic, with its content in place at once. */
function claim(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
