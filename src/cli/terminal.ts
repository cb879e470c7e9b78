import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { harmless } from '../../clients/typescript/src/cli/harmless.js';

/** Whether a person can answer a question: standard output may be a file. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY;

/** @throws Error of one line unless the person at the terminal types `yes` */
export async function confirm(question: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D close the terminal without an answer.
  const closed = once(terminal, 'close').then(() => '');
  const answer = await Promise.race([terminal.question(`${harmless(question)} Type yes: `), closed]);
  terminal.close();
  if (answer.trim() !== 'yes') throw new Error('nothing was changed');
}

/** ms */
const READ_INTERVAL = 200;

/**
 * Waits for the work of a worker: reads until there is a result.
 * @param longest ms
 * @throws Error of one line, which begins with `late`, if there is none in time
 */
export async function waitFor<T>(longest: number, late: string, read: () => Promise<T | undefined>): Promise<T> {
  if (process.stderr.isTTY) process.stderr.write('waiting for a worker …\n');
  const deadline = performance.now() + longest;
  for (;;) {
    const result = await read();
    if (result !== undefined) return result;
    if (performance.now() > deadline) throw new Error(`${late}; check that a worker is running`);
    await sleep(READ_INTERVAL);
  }
}
