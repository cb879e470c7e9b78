#!/usr/bin/env node
// Faults of Postgres, of the network and of the log's reader, each under the load of 50 connections: reads, transfers
// with a key (repeated until they succeed), transfers without one, and status changes. Prints a row for
// each fault. The exit code is 1 if a request got a 500, no response, or one after more than 20 s, or if a transfer was
// made twice under one key or is lost. `npm run build`, then
// `node scripts/drills/faults.mjs [--only 'halted 20 s,…'] [--connections 50] [--busy]`; --busy keeps every core busy.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readState } from '../../dist/src/local/stack-state.js';
import { Secret } from '../../dist/src/platform/secret.js';
import { withDatabase } from '../../dist/test/crash/record.js';
import { caller } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { freeze } from '../../dist/test/support/freeze.js';
import { startHaltingProxy } from '../../dist/test/support/halting-proxy.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';
import { transferRequest } from '../../dist/test/support/transfers.js';
import { waitFor } from '../../dist/test/support/wait-for.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    connections: { type: 'string', default: '50' },
    busy: { type: 'boolean', default: false },
  },
});
const UNROUTABLE = fileURLToPath(new URL('./unroutable.mjs', import.meta.url));
const CLIENTS = 5;
/** Longest time for a response, ms. */
const LIMIT = 20_000;

const place = makeLocalDir();
const stack = await startStackProcess(place.path);
const env = { ...stack.env, RATE_LIMIT: '1000000', SHUTDOWN_DELAY: '0s' };
const inDatabase = (sql, parameters = []) =>
  withDatabase(env.DATABASE_URL, async (database) => (await database.query(sql, parameters)).rows);
const proxy = await startHaltingProxy(new Secret(env.DATABASE_URL));
const halt = (seconds) => async () => {
  const thaw = freeze(readState(place.path).postgres.pid);
  await sleep(seconds * 1_000);
  thaw();
};
const SLOW = `
create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(18); return new; end $$;
create trigger slow before insert on transfers for each row execute function slow()`;

/** The fault of the API `service`, while the function runs. */
const FAULTS = {
  'backends terminated': async () => {
    for (let i = 0; i < 20; i++) {
      await inDatabase(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'transfer-service%'`,
      );
      await sleep(1_000);
    }
  },
  'postmaster killed': async () => {
    process.kill(readState(place.path).postgres.pid, 'SIGKILL');
    await sleep(20_000);
  },
  'halted 20 s': halt(20),
  'halted 30 s': halt(30),
  'halted 75 s': halt(75),
  'packets dropped 30 s': async () => {
    proxy.halt();
    await sleep(30_000);
    proxy.resume();
  },
  'unroutable 20 s': async (service) => {
    service.process.kill('SIGUSR2');
    await sleep(20_000);
    service.process.kill('SIGUSR2');
  },
  'inserts of 18 s': async () => {
    await inDatabase(SLOW);
    await sleep(45_000);
    // Its lock waits for the sleeping statements.
    await inDatabase('drop function slow cascade');
  },
  'log not read 30 s': async (service) => {
    service.process.stderr.pause();
    await sleep(30_000);
    service.process.stderr.resume();
  },
};

/** Each loop is one connection. Every request counts. */
async function load(clients, connections, stopped) {
  const row = { requests: 0, slowest: 0, 'late (> 20 s)': 0, 500: 0, unanswered: 0, 503: 0 };
  const keyed = [];
  const acknowledged = [];
  const ask = async (client, ...request) => {
    const began = performance.now();
    const answer = await client(...request).catch((error) => ({ status: 0, error }));
    const took = performance.now() - began;
    row.requests++;
    row.slowest = Math.max(row.slowest, took);
    if (took > LIMIT) row['late (> 20 s)']++;
    if (answer.status === 500) row[500]++;
    if (answer.status === 503) row[503]++;
    if (answer.status === 0) {
      row.unanswered++;
      console.error(`no response after ${Math.round(took)} ms: ${answer.error.cause ?? answer.error}`);
    }
    return answer;
  };
  const made = ({ status, body }) => status === 201 && acknowledged.push(body.id);
  const loop = async (client) => {
    while (!stopped.aborted) {
      await ask(client, 'GET', '/transfers');
      made(await ask(client, 'POST', '/transfers', transferRequest({ reference: 'unkeyed' })));
      const key = randomUUID();
      keyed.push(key);
      const body = transferRequest({ reference: key });
      const until = Date.now() + 180_000;
      for (;;) {
        const answer = await ask(client, 'POST', '/transfers', body, { 'Idempotency-Key': key });
        if (made(answer)) {
          await ask(client, 'POST', `/sandbox/transfers/${answer.body.id}/status`, { status: 'PROCESSING' });
          break;
        }
        if (Date.now() > until) throw new Error(`${key} was never made: ${answer.status} ${answer.body?.code}`);
        await sleep(500);
      }
      await sleep(200);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, i) => loop(clients[i % clients.length])));
  return { row, keyed, acknowledged };
}

async function run(name, fault) {
  const service = startRole(
    'api',
    { ...env, ...(name.startsWith('packets') && { DATABASE_URL: proxy.url.reveal() }) },
    name.startsWith('unroutable') ? ['--import', UNROUTABLE] : [],
  );
  await service.ready;
  const at = { auth_url: env.AUTH_URL, base_url: env.BASE_URL };
  const clients = await Promise.all(credentials.map((one) => caller(at, one)));
  const stopped = new AbortController();
  const loading = load(clients, Number(values.connections), stopped.signal);
  await sleep(3_000);
  await fault(service);
  await sleep(5_000);
  stopped.abort();
  const { row, keyed, acknowledged } = await loading;
  await service.stop();
  const twice = await inDatabase(
    'select reference from transfers where reference = any($1) group by reference having count(*) <> 1',
    [keyed],
  );
  const [{ lost }] = await inDatabase(
    'select count(*)::int as lost from unnest($1::uuid[]) id where not exists (select from transfers t where t.id = id.id)',
    [acknowledged],
  );
  return { ...row, slowest: `${(row.slowest / 1_000).toFixed(1)} s`, 'twice under a key': twice.length, lost };
}

const busy = values.busy
  ? Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['--eval', 'for (;;);']))
  : [];
const rows = {};
let credentials;
try {
  await runCli(['migrate'], env);
  credentials = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, i) =>
      JSON.parse((await runCli(['clients', 'create', '--json', '--name', `drill ${i}`], env)).stdout),
    ),
  );
  for (const [name, fault] of Object.entries(FAULTS)) {
    if (values.only && !values.only.split(',').includes(name)) continue;
    rows[name] = await run(name, fault);
    console.error(`${name}: ${JSON.stringify(rows[name])}`);
    await waitFor('Postgres', () => inDatabase('select 1').catch(() => undefined));
  }
} finally {
  for (const child of busy) child.kill();
  await proxy.close();
  await stack.stop();
  await place.remove();
}
console.table(rows);
const NONE = ['late (> 20 s)', '500', 'unanswered', 'twice under a key', 'lost'];
if (Object.values(rows).some((row) => NONE.some((column) => row[column] > 0))) process.exitCode = 1;
