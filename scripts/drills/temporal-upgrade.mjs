#!/usr/bin/env node
// Upgrades Temporal's server, one minor release after the other, while the service runs and deliveries sleep on the
// ladder. For each release, the server stops, the schema is upgraded, the next server starts, and every sleeping
// delivery must make its next attempt. The first server has 4 history shards, as `auto-setup` made them; later servers
// are configured with 512 and keep 4. Finally Temporal gets a new store, which has 512: the watchdog queues the
// deliveries two minutes after their time and asks for their workflows. After `npm run build`: node scripts/drills/temporal-upgrade.mjs [VERSION…]. Needs Go;
// builds each server once.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../dist/src/local/postgres.js';
import { postgresUrl } from '../../dist/src/local/stack-state.js';
import { freePort } from '../../dist/src/platform/free-port.js';
import { Secret } from '../../dist/src/platform/secret.js';
import { caller, must } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { changeAll, makeTransfers } from '../../dist/test/support/load.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { waitFor } from '../../dist/test/support/wait-for.js';
import { HISTORY_SHARDS } from '../temporal-on-postgres/configuration.mjs';
import { findPrograms, SERVER_VERSION } from '../temporal-on-postgres/programs.mjs';
import { describeCluster, startServer } from '../temporal-on-postgres/server.mjs';

const versions = process.argv.slice(2);
if (versions.length === 0) versions.push('1.29.1', '1.30.8', SERVER_VERSION);
const CHANGES = 20;
const LADDER = '0s,45s,45s,45s,45s,45s';
const PATIENCE = 300_000;

const say = (line) => process.stdout.write(`${line}\n`);
const cacheDir =
  process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
const programs = [];
for (const version of versions) programs.push(await findPrograms(cacheDir, say, version));

const folder = mkdtempSync(join(tmpdir(), 'temporal-upgrade-'));
const [postgresPort, temporalPort] = [await freePort(), await freePort()];
const password = new Secret('temporal');
const postgres = await startPostgres({
  ...{ localDir: folder, port: postgresPort, password, settings: ['max_connections=500'] },
  ...{ onStart: () => {}, progress: say, signal: undefined },
});
const superUrl = postgresUrl(postgresPort, password, 'postgres').reveal();
const start = (index, shards) =>
  startServer({ programs: programs[index], postgresUrl: superUrl, port: temporalPort, folder, shards });

let healthy = false;
/** Requests to the receiver by the event's id. */
const received = new Map();
const receiver = createServer(async (request, response) => {
  const chunks = await request.toArray();
  const { id } = JSON.parse(Buffer.concat(chunks).toString());
  received.set(id, (received.get(id) ?? 0) + 1);
  response.writeHead(healthy ? 204 : 500).end();
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');

let server = await start(0, 4);
const env = {
  ...{ ENVIRONMENT: 'sandbox', ALLOW_PRIVATE_RECEIVERS: 'true', HOST: '127.0.0.1', LOG_LEVEL: 'error' },
  DATABASE_URL: postgresUrl(postgresPort, password).reveal(),
  TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
  MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64'),
  ...{ DELIVERY_RETRY_DELAYS: LADDER, RATE_LIMIT: '1000000' },
};
env.PORT = String(await freePort());
env.BASE_URL = `http://localhost:${env.PORT}`;
await succeed(runCli(['migrate'], env));
const credentials = JSON.parse(
  (await succeed(runCli(['clients', 'create', '--json', '--name', 'upgrade'], env))).stdout,
);
const service = startRole('start', env);
await service.ready;
const client = await caller({ auth_url: env.BASE_URL, base_url: env.BASE_URL }, credentials);
const url = `http://127.0.0.1:${receiver.address().port}/`;
const { webhookId } = await must(
  client('POST', '/webhook-endpoints', { url, secret: 'a-secret-of-16-characters-or-more' }),
);
const deliveries = async () => (await must(client('GET', `/webhook-endpoints/${webhookId}/deliveries?limit=100`))).data;
const change = async () => changeAll(client, await makeTransfers(client, CHANGES), 'PROCESSING').done;
const asleep = (all) => all.every((one) => Date.parse(one.next_attempt_at) > Date.now() + 2_000);
const attempts = (all) => new Map(all.map((one) => [one.id, one.attempt_count]));

/** Stops the server, starts another, and waits until each sleeping delivery has made its next attempt. */
async function underSleep(what, startNext) {
  const sleeping = async () => {
    const all = await deliveries();
    return asleep(all) && all;
  };
  const before = attempts(await waitFor('all are asleep', sleeping, PATIENCE));
  const since = Date.now();
  await server.stop();
  server = await startNext();
  const away = Math.round((Date.now() - since) / 1_000);
  say(`${what}: ${JSON.stringify(await describeCluster(temporalPort, superUrl))}, unavailable for ${away} s`);
  const wentOn = async () => {
    const now = attempts(await deliveries());
    return [...before].every(([id, count]) => now.get(id) > count);
  };
  await waitFor('every sleeping delivery has made its next attempt', wentOn, PATIENCE);
  say(`${what}: ${before.size} deliveries were asleep, ${before.size} made their next attempt`);
}

async function rename(from, to) {
  const client = new pg.Client({ connectionString: superUrl });
  await client.connect();
  await client.query(`alter database ${from} rename to ${to}`).finally(() => client.end());
}

async function succeed(run) {
  const { code, stdout, stderr } = await run;
  if (code !== 0) throw new Error(stderr);
  return { stdout };
}

await change();
await waitFor(
  'all made two attempts',
  async () => (await deliveries()).every((one) => one.attempt_count >= 2),
  PATIENCE,
);
say(`${versions[0]}: ${JSON.stringify(await describeCluster(temporalPort, superUrl))}`);
for (let next = 1; next < versions.length; next++) {
  await underSleep(versions[next], async () => {
    // This change is made while Temporal is down. The dispatcher makes the first attempt.
    if (next === 1) await change();
    return start(next, HISTORY_SHARDS);
  });
}
await underSleep('a new store', async () => {
  for (const name of ['temporal', 'temporal_visibility']) await rename(name, `${name}_old`);
  const fresh = await start(versions.length - 1, HISTORY_SHARDS);
  await succeed(runCli(['migrate'], env));
  return fresh;
});
healthy = true;
await waitFor(
  'all are delivered',
  async () => (await deliveries()).every((one) => one.status === 'succeeded'),
  PATIENCE,
);
const all = await deliveries();
const made = all.reduce((sum, one) => sum + one.attempt_count, 0);
const got = [...received.values()].reduce((sum, count) => sum + count, 0);
say(`${all.length} deliveries, all succeeded: ${made} attempts recorded, ${got} requests received`);
await service.stop();
await server.stop();
await postgres.stop();
receiver.close();
rmSync(folder, { recursive: true, force: true });
if (made !== got) process.exitCode = 1;
