import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { findStack } from '../../src/local/stack-state.js';
import { loadConfig } from '../../src/platform/config/config.js';
import { localDir, parts, query, start } from '../support/local-stacks.js';
import type { StackProcess } from '../support/stack-process.js';

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
  // A command uses the settings of the service, and must have the same master key.
  expect(findStack({ LOCAL_DIR: folders[1] })).toMatchObject({
    ...{ DATABASE_URL: two?.DATABASE_URL, PORT: two?.PORT, DELIVERY_RETRY_DELAYS: '0s,1s' },
    MASTER_KEY: two?.MASTER_KEY,
  });
  const MASTER_KEY = Buffer.alloc(32, 'k').toString('base64');
  expect(() => findStack({ LOCAL_DIR: folders[1], MASTER_KEY })).toThrow(/^MASTER_KEY: .* started with another key/);
  await expect(start(folders[0])).rejects.toThrow(
    new RegExp(`^the embedded stack under .* is already running as process ${stacks[0]?.process.pid}; .*$`),
  );
  expect(await query(stacks[0] as StackProcess, 'select 1 as one')).toEqual([{ one: 1 }]);
});
