import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner can read (0600), atomically: after a crash the previous file is still there. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** The file's text; undefined if there is no file. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
