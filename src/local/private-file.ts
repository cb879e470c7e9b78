import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner reads (0600), whole or not at all: a crash leaves the one before. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** Its text; undefined: there is none. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
