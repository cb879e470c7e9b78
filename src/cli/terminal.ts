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
  const shown = state;
  state = null;
  const answer = await Promise.race([terminal.question(`${harmless(question)} Type yes: `), closed]);
  state = shown;
  terminal.close();
  if (answer.trim() !== 'yes') throw new Error('nothing was changed');
}

/**
 * Waits for the work of a worker: reads until there is a result.
 * @param longest ms
 * @throws Error of one line, which begins with `late`, if there is none in time
 */
export async function waitFor<T>(longest: number, late: string, read: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + longest;
  for (;;) {
    const result = await read();
    if (result !== undefined) return result;
    if (performance.now() > deadline) throw new Error(`${late}; check that a worker is running`);
    await sleep(READ_INTERVAL);
  }
}

/** ms */
const READ_INTERVAL = 200;

/** ms between two lines of progress. A command that ends earlier prints none. */
const INTERVAL = 2_000;

/** What the command is doing; null while it waits for an answer. */
let state: string | null = 'working';

/** Changes what the progress says: `re-encrypted 400 secrets`. */
export function report(text: string): void {
  state = text;
}

/** On a terminal, prints on standard error what the command is doing and for how long. @returns a function that stops it */
export function showProgress(): () => void {
  if (!process.stderr.isTTY) return () => {};
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    if (state !== null) process.stderr.write(`${state} … ${seconds} s\n`);
  }, INTERVAL);
  return () => clearInterval(timer);
}
