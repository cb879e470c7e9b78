import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTimeSkippingServer } from './time-skipping-server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Before all tests: the build (whole-stack tests start real processes from dist/), and one Postgres (in
 * TEST_DATABASE_URL), one Temporal (in TEST_TEMPORAL_ADDRESS, namespace `default`) and the program of the time-skipping
 * server (TEST_SERVER_PATH) for all files. What is set already is used as it is. JavaScript, since Jest loads it with no
 * transform.
 */
export default async function setUp() {
  build();
  const cacheDir =
    process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
  const say = (line) => process.stderr.write(`${line}\n`);
  const running = [];
  globalThis.__stack__ = running;
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-test-'));
  running.push({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
  const told = { localDir: folder, onStart: () => {}, progress: say, signal: undefined };
  if (!process.env.TEST_DATABASE_URL) running.push(await startPostgresIn(told));
  if (!process.env.TEST_TEMPORAL_ADDRESS) running.push(await startTemporalIn(told, cacheDir));
  process.env.TEST_SERVER_PATH ||= findTimeSkippingServer(cacheDir, say);
}

function build() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  // Types are checked by `npm run check`; here what was emitted is what is tested.
  if (stdout) process.stderr.write(stdout);
  const bundle = spawnSync(process.execPath, ['scripts/bundle-workflows.mjs'], { cwd: root, encoding: 'utf8' });
  if (bundle.status !== 0) throw new Error(`the workflows cannot be bundled: ${bundle.stderr}`);
}

async function startPostgresIn(told) {
  const { startPostgres } = await import('../../dist/src/local/postgres.js');
  const { postgresUrl } = await import('../../dist/src/local/postgres-url.js');
  const { freePort } = await import('../../dist/src/free-port.js');
  const { Secret } = await import('../../dist/src/secret.js');
  const port = await freePort();
  const password = new Secret('test');
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=500'];
  const child = await startPostgres({ ...told, port, password, settings });
  process.env.TEST_DATABASE_URL = postgresUrl(port, password).reveal();
  return child;
}

async function startTemporalIn(told, cacheDir) {
  const { startTemporal } = await import('../../dist/src/local/temporal.js');
  const { findTemporal } = await import('../../dist/src/local/temporal-binary.js');
  const { freePort } = await import('../../dist/src/free-port.js');
  const command = await findTemporal({ ...told, cacheDir, path: process.env.PATH });
  const port = await freePort();
  const child = await startTemporal({ ...told, command, port, uiPort: await freePort(), namespace: 'default' });
  process.env.TEST_TEMPORAL_ADDRESS = `127.0.0.1:${port}`;
  return child;
}
