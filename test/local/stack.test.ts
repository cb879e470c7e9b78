import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { isRunning, type ProcessRecord } from '../../src/local/child.js';
import { findStack, readState } from '../../src/local/stack-state.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type StackProcess, startStackProcess } from '../support/stack-process.js';
import { waitFor } from '../support/wait-for.js';

const folders: ReturnType<typeof makeLocalDir>[] = [];
const started: StackProcess[] = [];

afterEach(async () => {
  await Promise.all(
    started
      .splice(0)
      .map((stack) => stack.process.exitCode === null && stack.process.signalCode === null && stack.stop()),
  );
  for (const folder of folders.splice(0)) await folder.remove();
});

function localDir(): string {
  const folder = makeLocalDir();
  folders.push(folder);
  return folder.path;
}

async function start(folder: string, env: Record<string, string> = {}): Promise<StackProcess> {
  const stack = await startStackProcess(folder, env);
  started.push(stack);
  return stack;
}

async function query<Row>(stack: StackProcess, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: stack.env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

function parts(folder: string): ProcessRecord[] {
  const state = readState(folder);
  if (!state?.postgres || !state.temporal) throw new Error('stack.json names no processes');
  return [state.postgres, state.temporal];
}

test('two stacks run side by side on free ports, each with its own database and namespace', async () => {
  const folders = [localDir(), localDir()] as const;
  const stacks = await Promise.all(folders.map((folder) => start(folder)));
  for (const stack of stacks) {
    expect(loadConfig(stack.env)).toMatchObject({
      environment: 'sandbox',
      host: '127.0.0.1',
      receivers: { allowPrivate: true },
    });
    expect(await query(stack, 'select current_database() as name')).toEqual([{ name: 'transfer_service' }]);
    const connection = await Connection.connect({ address: stack.env.TEMPORAL_ADDRESS ?? '' });
    await connection.workflowService.describeNamespace({ namespace: stack.env.TEMPORAL_NAMESPACE ?? '' });
    await connection.close();
    expect((await fetch(stack.temporalUiUrl)).status).toBe(200);
  }
  if (process.platform === 'linux') {
    const [, temporal] = parts(folders[0]);
    // It asks nobody on the internet for newer versions, and does not get the secrets of this process.
    const names = readFileSync(`/proc/${temporal?.pid}/environ`, 'utf8').matchAll(/(\w+)=[^\0]*\0/g);
    expect(Array.from(names, ([, name]) => name).sort()).toEqual([
      'HOME',
      'LC_ALL',
      'PATH',
      'TEMPORAL_VERSION_CHECK_DISABLED',
      'TZ',
    ]);
  }
  const [one, two] = stacks.map((stack) => stack.env);
  for (const name of ['PORT', 'BASE_URL', 'DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEY']) {
    expect(one?.[name]).not.toBe(two?.[name]);
  }
  expect(findStack({ LOCAL_DIR: folders[1] })).toMatchObject({ DATABASE_URL: two?.DATABASE_URL, PORT: two?.PORT });
});

test('a command uses the ladder of the service, and refuses to run with another master key', async () => {
  const folder = localDir();
  const MASTER_KEY = Buffer.alloc(32, 'k').toString('base64');
  await start(folder, { MASTER_KEY, DELIVERY_RETRY_DELAYS: '0s,1s' });
  expect(findStack({ LOCAL_DIR: folder, MASTER_KEY })).toMatchObject({ MASTER_KEY, DELIVERY_RETRY_DELAYS: '0s,1s' });
  expect(() => findStack({ LOCAL_DIR: folder })).toThrow(/^MASTER_KEY: the service under .* was started with another/);
});

test('a restart keeps the data, the master key and the password, and no process runs in between', async () => {
  const folder = localDir();
  const before = await start(folder);
  await query(before, `create table kept as select 'still here' as text`);
  const processes = parts(folder);
  await before.stop();
  expect(processes.map(isRunning)).toEqual([false, false]);
  expect(() => findStack({ LOCAL_DIR: folder })).toThrow(/^no embedded stack runs under/);

  const after = await start(folder);
  expect(await query(after, 'select text from kept')).toEqual([{ text: 'still here' }]);
  expect(after.env.MASTER_KEY).toBe(before.env.MASTER_KEY);
  expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
});

test('a start ends the processes that a killed parent left running, and keeps the data', async () => {
  const folder = localDir();
  const killed = await start(folder);
  await query(killed, `create table kept as select 'still here' as text`);
  const leftovers = parts(folder);
  killed.process.kill('SIGKILL');
  await waitFor('the end of the parent', () => killed.process.signalCode === 'SIGKILL');
  expect(leftovers.map(isRunning)).toEqual([true, true]);

  const next = await start(folder);
  expect(leftovers.map(isRunning)).toEqual([false, false]);
  expect(next.progress).toEqual([
    expect.stringContaining('ending Temporal'),
    expect.stringContaining('ending Postgres'),
  ]);
  expect(await query(next, 'select text from kept')).toEqual([{ text: 'still here' }]);
});

test('rejects a second start under the same LOCAL_DIR with one line that names the process', async () => {
  const folder = localDir();
  const first = await start(folder);
  await expect(start(folder)).rejects.toThrow(
    new RegExp(`^the embedded stack under .* is already running as process ${first.process.pid}; .*$`),
  );
  expect(await query(first, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test.each(['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'])(
  'the start fails with one line that names the port if %s is in use',
  async (name) => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    await expect(start(localDir(), { [name]: port })).rejects.toThrow(
      new RegExp(`^${name}: port ${port} is in use; [^\n]*$`),
    );
    server.close();
  },
);

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

test('refuses to run production on the embedded stack', async () => {
  const folder = localDir();
  await expect(start(folder, { ENVIRONMENT: 'production' })).rejects.toThrow(/^DATABASE_URL: is not set; production/);
  expect(existsSync(folder)).toBe(false);
});

test('reports an invalid setting in a line that names the variable', async () => {
  await expect(start(localDir(), { POSTGRES_PORT: 'many' })).rejects.toThrow(/^POSTGRES_PORT: give a whole number/);
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
