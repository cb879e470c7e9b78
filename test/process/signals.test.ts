import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';

/** Prints a line when it is ready, at the first signal, and when a further signal would end it. */
const PROGRAM = `
import { untilSignalled } from '${pathToFileURL('dist/src/process/signals.js')}';
setInterval(() => {}, 1_000);
const signalled = untilSignalled();
console.log('ready');
await signalled;
console.log('signalled');
const look = setInterval(() => {
  if (process.listenerCount('SIGINT') > 0) return;
  clearInterval(look);
  console.log('open');
}, 10);`;

test('a signal that arrives twice, as Ctrl-C does under npm, counts once; a later one ends the process at once', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value;
  expect(await next()).toBe('ready');
  child.kill('SIGINT');
  expect(await next()).toBe('signalled');
  child.kill('SIGINT');
  expect(await next()).toBe('open');
  child.kill('SIGINT');
  expect(await ended).toEqual([null, 'SIGINT']);
});
