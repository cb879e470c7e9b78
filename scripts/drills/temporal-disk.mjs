// `node scripts/drills/temporal-disk.mjs [events]` (after `npm run build`; needs Go once): the disk that the workflows of
// delivered events take in Temporal on Postgres, from their start until the namespace's retention removes them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startTemporalOnPostgres } from '../temporal-on-postgres/start.mjs';

const EVENTS = Number(process.argv[2] ?? 2_000);
/** Events before the measurement: the tables' first pages, and the caches. */
const WARM_UP = 200;
const AT_ONCE = 8;
/** Smaller parts are not printed, KiB an event. */
const LEAST = 0.1;

const folder = mkdtempSync(join(tmpdir(), 'temporal-disk-'));
const cacheDir =
  process.env.CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'transfer-service');
const progress = (line) => process.stderr.write(`${line}\n`);
const temporal = await startTemporalOnPostgres({ folder, cacheDir, progress });
const receiver = createServer((request, response) => request.resume().on('end', () => response.writeHead(204).end()));
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const localDir = join(folder, 'service');
const service = spawn(process.execPath, ['dist/src/main.js'], {
  env: {
    ...{ PATH: `${temporal.bin}:${process.env.PATH}`, HOME: process.env.HOME, LOCAL_DIR: localDir, LOG_LEVEL: 'error' },
    ...{ PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', RATE_LIMIT: '1000000' },
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  await Promise.race([once(createInterface({ input: service.stdout }), 'line'), failed(service)]);
  const sandbox = JSON.parse(readFileSync(join(localDir, 'sandbox-client.json'), 'utf8'));
  // The service is ready before Temporal is.
  while ((await (await fetch(`${sandbox.base_url}/readyz`)).json()).checks.temporal !== 'ok') await sleep(100);
  const form = { grant_type: 'client_credentials', audience: sandbox.base_url, client_id: sandbox.client_id };
  const { access_token } = await call(`${sandbox.auth_url}/oauth/token`, {
    ...form,
    client_secret: sandbox.client_secret,
  });
  const post = (path, body) => call(sandbox.base_url + path, body, { authorization: `Bearer ${access_token}` });
  await post('/webhook-endpoints', {
    url: `http://127.0.0.1:${receiver.address().port}/`,
    secret: 'a secret of the drill',
  });
  const database = new pg.Client({ connectionString: sandbox.database_url });
  await database.connect();
  await make(WARM_UP, post, database);
  const before = await sizes();
  const begun = performance.now();
  await make(EVENTS, post, database);
  const seconds = (performance.now() - begun) / 1_000;
  const after = await sizes();
  await database.end();
  const each = (name) => ((after[name] - before[name]) / 1_024 / EVENTS).toFixed(1);
  console.log(`| ${EVENTS} delivered events, a workflow each | KiB an event |\n| --- | --- |`);
  for (const name of Object.keys(after)) if (Number(each(name)) >= LEAST) console.log(`| ${name} | ${each(name)} |`);
  console.log(`${(EVENTS / seconds).toFixed(1)} a second`);
} finally {
  service.kill('SIGTERM');
  if (service.exitCode === null) await once(service, 'exit');
  receiver.close();
  await temporal.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Makes so many delivered events, and waits until their workflows have ended. */
async function make(count, post, database) {
  const destination = { name: 'Ada Lovelace', account: 'DE02120300000000202051' };
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const { id } = await post('/transfers', { amount: { value: 1250, currency: 'EUR' }, destination });
      await post(`/sandbox/transfers/${id}/status`, { status: 'PROCESSING' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (;;) {
    const { rows } = await database.query(`select from events where outbox <> 'done' limit 1`);
    if (rows.length === 0) break;
    await sleep(200);
  }
  // The last workflows end, and Temporal writes what it shows of them.
  await sleep(10_000);
}

/** Bytes of Temporal's two databases without dead rows, and of their biggest tables. */
async function sizes() {
  const names = await query(
    'postgres',
    "select datname as name from pg_database where datname ~ '^temporal_.*[0-9a-f]{12}$'",
  );
  const found = {};
  for (const { name } of names) {
    const store = name.replace(/_[0-9a-f]{12}$/, '');
    await query(name, 'vacuum full');
    const [{ bytes }] = await query(name, 'select pg_database_size(current_database())::float8 as bytes');
    found[store] = bytes;
    const tables = await query(
      name,
      `select relname as table, pg_total_relation_size(oid)::float8 as bytes from pg_class
        where relkind = 'r' and relnamespace = 'public'::regnamespace`,
    );
    for (const { table, bytes } of tables) found[`… of ${store}: ${table}`] = bytes;
  }
  return found;
}

async function query(database, text) {
  const url = new URL(temporal.url);
  url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

async function call(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

async function failed(child) {
  const [code] = await once(child, 'exit');
  throw new Error(`the service has ended with ${code}`);
}
