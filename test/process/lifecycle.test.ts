import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, test } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import { Secret } from '../../src/platform/secret.js';
import { oneLine } from '../../src/process/lifecycle.js';

/** Prints a line when it is ready, at the first signal, and when a further signal would end it. */
const PROGRAM = `
import { untilSignalled } from '${pathToFileURL('dist/src/process/lifecycle.js')}';
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

test.each<[string, Record<string, string>, string]>([
  ['ends at the SIGHUP of a terminal that closes', {}, 'signalled'],
  ['ignores SIGHUP under nohup', { _: '/usr/bin/nohup' }, 'alive'],
])('a program %s', async (_, env, expected) => {
  const alive = `process.on('SIGUSR2', () => console.log('alive'));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', alive + PROGRAM], {
    env: { ...process.env, _: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  child.kill('SIGHUP');
  child.kill('SIGUSR2');
  const said = [(await lines.next()).value];
  if (said[0] === 'alive' && expected === 'signalled') said.push((await lines.next()).value);
  expect(said.at(-1)).toBe(expected);
  child.kill('SIGKILL');
});

describe('oneLine', () => {
  it('gives the same reason for a raw statement and for a query of Prisma', async () => {
    const database = openDatabase({ url: new Secret('postgresql://nobody@127.0.0.1:1/nothing'), poolSize: 1 });
    const errors = [database.query('select 1', []), database.prisma.client.findMany()].map((failing) =>
      failing.then(() => 'no error', oneLine),
    );
    expect(await Promise.all(errors)).toEqual(Array(2).fill("Can't reach database server at 127.0.0.1:1"));
    await database.close();
  });
});
