import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import build from './build.js';
import { findTimeSkippingServer } from './time-skipping-server.js';

/**
 * Runs before the tests that use servers. It builds (build.js), and starts one Postgres (TEST_DATABASE_URL) and one
 * Temporal (TEST_TEMPORAL_ADDRESS, namespace `default`) for all files. It also finds the program of the time-skipping
 * server (TEST_SERVER_PATH). A variable that is already set is used instead.
 */
export default async function setUp() {
  await build();
  const cacheDir =
    process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
  const say = (line) => process.stderr.write(`${line}\n`);
  const running = [];
  globalThis.__stack__ = running;
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-test-'));
  running.push({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
  const common = { localDir: folder, onStart: () => {}, progress: say, signal: undefined };
  if (!process.env.TEST_DATABASE_URL) running.push(await startTestPostgres(common));
  if (!process.env.TEST_TEMPORAL_ADDRESS) running.push(await startTestTemporal(common, cacheDir));
  process.env.TEST_SERVER_PATH ||= await findTimeSkippingServer(cacheDir, say);
}

async function startTestPostgres(common) {
  const { startPostgres } = await import('../../dist/src/local/postgres.js');
  const { postgresUrl } = await import('../../dist/src/local/stack-state.js');
  const { freePort } = await import('../../dist/src/platform/free-port.js');
  const { Secret } = await import('../../dist/src/platform/secret.js');
  const port = await freePort();
  const password = new Secret('test');
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=500'];
  const child = await startPostgres({ ...common, port, password, settings });
  process.env.TEST_DATABASE_URL = postgresUrl(port, password).reveal();
  return child;
}

async function startTestTemporal(common, cacheDir) {
  const { startTemporal } = await import('../../dist/src/local/temporal.js');
  const { findTemporal } = await import('../../dist/src/local/temporal-program.js');
  const { freePort } = await import('../../dist/src/platform/free-port.js');
  const command = await findTemporal({ ...common, cacheDir, path: process.env.PATH });
  const port = await freePort();
  const child = await startTemporal({ ...common, command, port, uiPort: await freePort(), namespace: 'default' });
  process.env.TEST_TEMPORAL_ADDRESS = `127.0.0.1:${port}`;
  return child;
}
