import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { isRunning } from '../../src/local/child.js';
import { localDir, parts, query, start } from '../support/local-stacks.js';
import { waitFor } from '../support/wait-for.js';

test('starts Postgres and Temporal again on the same ports when they die', async () => {
  const folder = localDir();
  const stack = await start(folder);
  const before = parts(folder);
  for (const { pid } of before) process.kill(pid, 'SIGKILL');
  await waitFor('both restarts', () => stack.progress.filter((line) => line.endsWith('is back')).length === 2);
  expect(await query(stack, 'select 1 as one')).toEqual([{ one: 1 }]);
  const after = parts(folder);
  expect(after.map(({ pid }) => pid)).not.toEqual(before.map(({ pid }) => pid));
  await stack.stop();
  expect(after.map(isRunning)).toEqual([false, false]);
});

test('does not mistake another process with a reused pid for a process of the stack', async () => {
  const folder = localDir();
  await (await start(folder)).stop();
  const path = join(folder, 'stack.json');
  const state = JSON.parse(readFileSync(path, 'utf8'));
  state.postgres = { pid: process.pid, started: 'long ago' };
  writeFileSync(path, JSON.stringify(state));
  await start(folder);
  expect(parts(folder).map(isRunning)).toEqual([true, true]);
});

test('Postgres starts after kill -9 if its lock file names another process that reuses the pid', async () => {
  const folder = localDir();
  const first = await start(folder);
  await query(first, 'create table kept (n int)');
  first.process.kill('SIGKILL');
  for (const { pid } of parts(folder)) process.kill(pid, 'SIGKILL');
  await waitFor('the end of Postgres and Temporal', () => parts(folder).every((part) => !isRunning(part)));
  const data = join(realpathSync(join(folder, 'postgres')), 'data');
  const file = join(data, 'postmaster.pid');
  const { uid, gid } = statSync(file);
  const other = spawn('sleep', ['600'], { ...(process.getuid?.() === 0 && { uid, gid }), stdio: 'ignore' });
  try {
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(other.pid)));
    expect(await query(await start(folder), 'select * from kept')).toEqual([]);
  } finally {
    other.kill('SIGKILL');
  }
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;

asRoot('Postgres gets a folder that its user can reach, and keeps it, if only root can access LOCAL_DIR', async () => {
  const folder = localDir();
  chmodSync(dirname(folder), 0o700);
  const first = await start(folder);
  await query(first, `create table kept as select 'still here' as text`);
  await first.stop();
  const target = readlinkSync(join(folder, 'postgres'));
  try {
    expect(target).toMatch(/^\/var\/lib\/transfer-service\/data-[0-9a-f]{16}$/);
    const second = await start(folder);
    expect(await query(second, 'select text from kept')).toEqual([{ text: 'still here' }]);
    await second.stop();

    rmSync(folder, { recursive: true });
    const third = await start(folder);
    await expect(query(third, 'select text from kept')).rejects.toThrow('does not exist');
    await third.stop();
  } finally {
    rmSync(target, { recursive: true });
  }
});
