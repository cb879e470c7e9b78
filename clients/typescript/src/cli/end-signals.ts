import { fstatSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * The signals that end a program in good order: Ctrl-C, SIGTERM, and SIGHUP, which a terminal sends when it closes.
 * A program that `nohup` has started ignores SIGHUP.
 */
export function endSignals(): readonly NodeJS.Signals[] {
  if (!isUnderNohup()) return ['SIGINT', 'SIGTERM', 'SIGHUP'];
  process.on('SIGHUP', () => {});
  return ['SIGINT', 'SIGTERM'];
}

/**
 * Whether `nohup` has started this process, or npm, which runs it. Node.js undoes at its start that SIGHUP is ignored
 * (and npm is a Node.js program), so only other traces are left.
 */
function isUnderNohup(): boolean {
  // The last command of the shell.
  if (basename(process.env._ ?? '') === 'nohup') return true;
  // In place of a terminal, GNU nohup gives an input that cannot be read, and every nohup this file for the output.
  if (/^flags:\s*\d*1$/m.test(tried(() => readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? '')) return true;
  const output = tried(() => fstatSync(1));
  return ['nohup.out', join(homedir(), 'nohup.out')].some((path) => {
    const file = tried(() => statSync(path));
    return file !== undefined && file.ino === output?.ino && file.dev === output.dev;
  });
}

function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
