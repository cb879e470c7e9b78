import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { isRunning } from '../../src/local/child.js';
import { findStack } from '../../src/local/stack-state.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { localDir, parts, query, start } from '../support/local-stacks.js';
import type { StackProcess } from '../support/stack-process.js';
import { waitFor } from '../support/wait-for.js';

test('two stacks run side by side on free ports, each with its own database and namespace, and none twice', async () => {
  const folders = [localDir(), localDir()] as const;
  const stacks = await Promise.all(folders.map((folder) => start(folder, { DELIVERY_RETRY_DELAYS: '0s,1s' })));
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
  // A command uses the settings of the service, and no other master key.
  expect(findStack({ LOCAL_DIR: folders[1] })).toMatchObject({
    ...{ DATABASE_URL: two?.DATABASE_URL, PORT: two?.PORT, DELIVERY_RETRY_DELAYS: '0s,1s' },
  });
  const MASTER_KEY = Buffer.alloc(32, 'k').toString('base64');
  expect(() => findStack({ LOCAL_DIR: folders[1], MASTER_KEY })).toThrow(/^MASTER_KEY: /);
  await expect(start(folders[0])).rejects.toThrow(
    new RegExp(`^the embedded stack under .* is already running as process ${stacks[0]?.process.pid}; .*$`),
  );
  expect(await query(stacks[0] as StackProcess, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a restart keeps the data, the master key and the password, and ends what a killed parent left running', async () => {
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

  const leftovers = parts(folder);
  after.process.kill('SIGKILL');
  await waitFor('the end of the parent', () => after.process.signalCode === 'SIGKILL');
  expect(leftovers.map(isRunning)).toEqual([true, true]);

  const next = await start(folder);
  expect(leftovers.map(isRunning)).toEqual([false, false]);
  expect(next.progress).toEqual([
    expect.stringContaining('ending Temporal'),
    expect.stringContaining('ending Postgres'),
  ]);
  expect(await query(next, 'select text from kept')).toEqual([{ text: 'still here' }]);
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

test('refuses to run production on the embedded stack', async () => {
  const folder = localDir();
  await expect(start(folder, { ENVIRONMENT: 'production' })).rejects.toThrow(/^DATABASE_URL: is not set; production/);
  expect(existsSync(folder)).toBe(false);
});

test('reports an invalid setting in a line that names the variable', async () => {
  await expect(start(localDir(), { POSTGRES_PORT: 'many' })).rejects.toThrow(/^POSTGRES_PORT: give a whole number/);
});
