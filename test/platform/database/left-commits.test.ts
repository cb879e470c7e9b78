import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPostgres } from '../../../src/local/postgres.js';
import { postgresUrl } from '../../../src/local/stack-state.js';
import { type Database, openDatabase } from '../../../src/platform/database/database.js';
import { isUnreachable } from '../../../src/platform/database/faults.js';
import { freePort } from '../../../src/platform/free-port.js';
import { Secret } from '../../../src/platform/secret.js';
import { openFolder } from '../../support/folder.js';
import { waitFor } from '../../support/wait-for.js';

const POOL_SIZE = 3;
const HOLD = 500;

const folder = openFolder();
let server: Awaited<ReturnType<typeof startPostgres>>;
let operator: Database;
let database: Database;

beforeAll(async () => {
  const [port, password] = [await freePort(), new Secret('test')];
  const plan = { localDir: folder, onStart: () => {}, progress: () => {}, signal: undefined };
  server = await startPostgres({ ...plan, port, password, settings: ['fsync=off'] });
  const url = postgresUrl(port, password);
  operator = openDatabase({ url, poolSize: 1 });
  await operator.query('create table changes (at timestamptz)', []);
  database = openDatabase({ url, poolSize: POOL_SIZE, limits: { wait: 500, hold: HOLD } });
}, 60_000);
afterAll(async () => {
  await database?.close();
  await operator?.close();
  await server?.stop();
});

const change = () => database.query('insert into changes values (now())', []).catch((error: unknown) => error);
const sessions = async () => {
  const rows = await operator.query(`select pid from pg_stat_activity where wait_event = 'SyncRep'`, []);
  return rows.length;
};
async function setStandby(name: string) {
  await operator.query(`alter system set synchronous_standby_names = '${name}'`, []);
  await operator.query('select pg_reload_conf()', []);
}

it('as many commits that wait for a lost standby as the pool has sessions make others fail at once', async () => {
  await setStandby('absent');
  await waitFor('a process without sessions', async () => {
    const begun = performance.now();
    const error = await change();
    expect(isUnreachable(error)).toBe(true);
    return performance.now() - begun < HOLD / 2;
  });
  const left = await sessions();
  expect(left).toBeGreaterThanOrEqual(POOL_SIZE);
  expect(left).toBeLessThanOrEqual(2 * POOL_SIZE);
  await Promise.all(Array.from({ length: 20 }, change));
  expect(await sessions()).toBe(left);
  await setStandby('');
  await waitFor('a commit', async () => Array.isArray(await change()));
});
