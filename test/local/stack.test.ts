import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { isRunning } from '../../src/local/child.js';
import { findStack } from '../../src/local/stack-state.js';
import { localDir, parts, query, start } from '../support/local-stacks.js';
import { waitFor } from '../support/wait-for.js';

/** What a shell has for another database and another Temporal. */
const OF_OTHER_SERVERS = {
  ...{ PGHOST: '192.0.2.1', PGHOSTADDR: '192.0.2.1', PGPORT: '1', PGUSER: 'other', PGPASSWORD: 'other' },
  ...{ PGDATABASE: 'other', PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct', PGREPLICATION: 'database' },
  ...{ PGBINARY: '1', PGOPTIONS: '-c search_path=none', PGCLIENT_ENCODING: 'LATIN1', PGCONNECT_TIMEOUT: '1' },
  ...{ PGSERVICE: 'other', PGPASSFILE: '/dev/null', PGSSLROOTCERT: '/nonexistent', PGTZ: 'Asia/Tokyo' },
  ...{ http_proxy: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9', grpc_proxy: 'http://127.0.0.1:9' },
  ...{ TEMPORAL_API_KEY: 'of-another', TEMPORAL_TLS: 'true', TEMPORAL_TLS_SERVER_NAME: 'another.example.com' },
};

/** A file system allows every character but the slash. */
const ANY_NAME = '-a #1?mode=memory&x=y %41%20 +\'"$HOME`x`\\;*é東\n.';

test('a restart keeps the data, the master key and the password, and ends what a killed parent left running', async () => {
  const folder = localDir(ANY_NAME);
  const before = await start(folder, OF_OTHER_SERVERS);
  await query(before, `create table kept as select 'still here' as text`);
  expect(existsSync(join(folder, 'temporal/temporal.db'))).toBe(true);
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

test.each(['PORT', 'TEMPORAL_UI_PORT'])(
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
