import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { newId } from '../src/ids.js';
import type { Load, LoadResult } from './load.js';
import { cpuOf, residentOf } from './processes.js';

// `npm run bench`: the real service, a receiver and a load generator, each its own process, on loopback.

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '5000' },
    connections: { type: 'string', default: '32' },
    modes: { type: 'string', default: 'retries-only,every-event' },
    steady: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
});

interface Sandbox {
  auth_url: string;
  base_url: string;
  database_url: string;
  client_id: string;
  client_secret: string;
  operator: { client_id: string; client_secret: string };
}

interface Stack {
  sandbox: Sandbox;
  pids: Record<'service' | 'postgres' | 'temporal', number>;
  database: pg.Client;
  stop(): Promise<void>;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

async function startStack(mode: string): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-bench-'));
  const anyPort = { PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };
  const env = { ...process.env, ...anyPort, LOCAL_DIR: folder, WORKFLOWS: mode, LOG_LEVEL: 'warn' };
  const service = spawn(process.execPath, [here('../src/main.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(createInterface({ input: service.stdout }), 'line');
  const sandbox = JSON.parse(readFileSync(join(folder, 'sandbox-client.json'), 'utf8')) as Sandbox;
  const state = JSON.parse(readFileSync(join(folder, 'stack.json'), 'utf8'));
  const database = new pg.Client({ connectionString: sandbox.database_url });
  await database.connect();
  return {
    sandbox,
    pids: { service: service.pid ?? 0, postgres: state.postgres.pid, temporal: state.temporal.pid },
    database,
    async stop() {
      await database.end();
      service.kill('SIGTERM');
      await once(service, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function post(url: string, body: unknown, token?: string): Promise<{ access_token: string }> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { access_token: string };
}

async function token({ auth_url, base_url }: Sandbox, client: { client_id: string; client_secret: string }) {
  const { client_id, client_secret } = client;
  const body = { client_id, client_secret, audience: base_url, grant_type: 'client_credentials' };
  return (await post(`${auth_url}/oauth/token`, body)).access_token;
}

/** Transfers straight into the tables: making them is not what is measured. */
async function makeTransfers({ database, sandbox }: Stack, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId());
  await database.query(
    `insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account)
     select id, $2::uuid, 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051' from unnest($1::uuid[]) as id`,
    [ids, sandbox.client_id],
  );
  await database.query(
    `insert into transfer_status_history (transfer_id, position, status, at)
     select id, 0, 'CREATED', now() from unnest($1::uuid[]) as id`,
    [ids],
  );
  return ids;
}

function ask<T>(child: ChildProcess, question: unknown): Promise<T> {
  const answer = once(child, 'message').then(([message]) => message as T);
  child.send(question as object);
  return answer;
}

interface Arrivals {
  count: number;
  repeated: number;
  arrivals: [string, number][];
}

const percentile = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
const round = (value: number, digits = 1) => Number(value.toFixed(digits));

async function measure(
  stack: Stack,
  receiver: ChildProcess,
  operator: string,
  run: { count: number; connections: number; rate: number },
) {
  const transferIds = await makeTransfers(stack, run.count);
  await ask(receiver, 'clear');
  const generator = fork(here('./load.js'));
  const before = Object.entries(stack.pids).map(([name, pid]) => [name, cpuOf(pid)] as const);
  const load: Load = {
    baseUrl: stack.sandbox.base_url,
    token: operator,
    transferIds,
    connections: run.connections,
    rate: run.rate,
  };
  const result = await ask<LoadResult>(generator, load);
  generator.disconnect();
  for (let patience = 0; patience < 1_200; patience++) {
    if ((await ask<Arrivals>(receiver, 'count')).count >= result.answers.length) break;
    await sleep(50);
  }
  const { arrivals, repeated } = await ask<Arrivals>(receiver, 'arrivals');
  const waiting = async () => {
    const { rows } = await stack.database.query(`select count(*)::int as n from events where outbox <> 'done'`);
    return rows[0].n as number;
  };
  const trailing = await waiting();
  const trailSince = performance.now();
  while ((await waiting()) > 0 && performance.now() - trailSince < 120_000) await sleep(100);
  const trailSeconds = (performance.now() - trailSince) / 1_000;

  const { rows } = await stack.database.query(
    'select id, transfer_id from events where transfer_id = any($1::uuid[])',
    [transferIds],
  );
  const answered = new Map(result.answers);
  const transferOf = new Map(rows.map((row) => [row.id, row.transfer_id] as [string, string]));
  const delays = arrivals
    .map(([event, at]) => at - (answered.get(transferOf.get(event) ?? '') ?? Number.NaN))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const last = Math.max(...arrivals.map(([, at]) => at));
  const cpu = before.map(([name, used]) => [name, round((cpuOf(stack.pids[name as 'service']) - used) / run.count, 2)]);
  return {
    events: run.count,
    'accepted/s': round(result.answers.length / ((result.endedAt - result.startedAt) / 1_000), 0),
    'delivered/s': round(arrivals.length / ((last - result.startedAt) / 1_000), 0),
    'p50 ms': round(percentile(delays, 0.5)),
    'p99 ms': round(percentile(delays, 0.99)),
    lost: result.answers.length - arrivals.length,
    repeated,
    refused: JSON.stringify(result.refused),
    trailing,
    'workflows/s behind': trailing > 0 ? round(trailing / trailSeconds, 0) : '–',
    'CPU ms/event': cpu.map(([name, used]) => `${name} ${used}`).join(', '),
    'RSS MiB': Object.entries(stack.pids)
      .map(([name, pid]) => `${name} ${residentOf(pid)}`)
      .join(', '),
  };
}

async function main(): Promise<void> {
  const table: Record<string, unknown> = {};
  for (const mode of options.modes.split(',')) {
    const stack = await startStack(mode);
    const receiver = fork(here('./receiver.js'));
    const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
    try {
      const client = await token(stack.sandbox, stack.sandbox);
      const url = `http://127.0.0.1:${port}/in`;
      await post(`${stack.sandbox.base_url}/webhook-endpoints`, { url, secret: 'a secret for the bench' }, client);
      const operator = await token(stack.sandbox, stack.sandbox.operator);
      const connections = Number(options.connections);
      await measure(stack, receiver, operator, { count: 500, connections, rate: 0 });
      table[`${mode}, full speed`] = await measure(stack, receiver, operator, {
        count: Number(options.events),
        connections,
        rate: 0,
      });
      table[`${mode}, 20/s`] = await measure(stack, receiver, operator, {
        count: Number(options.steady),
        connections,
        rate: 20,
      });
    } finally {
      receiver.disconnect();
      await stack.stop();
    }
  }
  for (const [name, row] of Object.entries(table)) {
    console.log(`\n${name}`);
    for (const [what, value] of Object.entries(row as object)) console.log(`  ${what.padEnd(20)} ${value}`);
  }
  if (options.json) writeFileSync(options.json, `${JSON.stringify(table, null, 2)}\n`);
}

await main();
