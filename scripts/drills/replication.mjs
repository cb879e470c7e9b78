#!/usr/bin/env node
// Measures the cost of "acknowledged means replicated": status changes on a primary with a streaming standby,
// alternately without and with `synchronous_standby_names`. `npm run build`, then `node scripts/drills/replication.mjs
// [seconds] [rounds]`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../dist/src/platform/database/database.js';
import { migrate } from '../../dist/src/platform/database/migrate.js';
import { newId } from '../../dist/src/platform/ids.js';
import { changeStatus } from '../../dist/src/transfers/change-status.js';
import { backUp, connectionTo, startServer } from './postgres-servers.mjs';

const [seconds, rounds] = [Number(process.argv[2] ?? 8), Number(process.argv[3] ?? 3)];
const CONNECTIONS = 16;
const MODES = [
  { name: 'asynchronous', standbys: '', commit: 'on' },
  { name: 'remote_write', standbys: '*', commit: 'remote_write' },
  { name: 'on (flushed)', standbys: '*', commit: 'on' },
  { name: 'remote_apply', standbys: '*', commit: 'remote_apply' },
];

const CLIENT = `insert into clients (id, name, scopes, networks) values ($1, 'drill', '{}', '{}')`;
const ENDPOINT = `
insert into webhook_endpoints (id, client_id, url, secret_envelope, updated_at)
values ($1, $2, 'https://hooks.example.com/in', 'sealed', now())`;
const TRANSFERS = `
with made as (
  insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, updated_at)
  select gen_random_uuid(), $1::uuid, 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051', now()
    from generate_series(1, $2::int) returning id
)
insert into transfer_status_history (transfer_id, position, status, at)
select id, 0, 'CREATED', now() from made returning transfer_id::text as id`;

const servers = [];
const add = async (options) => {
  servers.push(await startServer(options));
  return servers.at(-1);
};
const folder = mkdtempSync(join(tmpdir(), 'drill-'));
try {
  const primary = await add();
  const { url } = primary;
  const backup = await backUp(primary, join(folder, 'base.tar'));
  await add({ backup, signal: 'standby', settings: [`primary_conninfo=${connectionTo(primary.port)}`] });
  await migrate(url);
  const db = openDatabase({ url, poolSize: CONNECTIONS * 2 });
  const clientId = newId();
  await db.pool.query(CLIENT, [clientId]);
  await db.pool.query(ENDPOINT, [newId(), clientId]);
  const results = MODES.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, mode] of MODES.entries()) {
      await db.pool.query(`alter system set synchronous_standby_names = '${mode.standbys}'`);
      await db.pool.query(`alter system set synchronous_commit = '${mode.commit}'`);
      await db.pool.query('select pg_reload_conf()');
      results[index].push(await measure(db, clientId));
      console.error(`round ${round + 1}, ${mode.name}: ${JSON.stringify(results[index].at(-1))}`);
    }
  }
  const { rows } = await db.pool.query('select sync_state, state from pg_stat_replication');
  console.error(JSON.stringify(rows));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  const base = median(results[0].map(({ rate }) => rate));
  for (const [index, { name }] of MODES.entries()) {
    const rate = median(results[index].map((one) => one.rate));
    const p50 = median(results[index].map((one) => one.p50));
    const p99 = median(results[index].map((one) => one.p99));
    console.log(
      `| ${name} | ${Math.round(rate)} | ${(rate / base).toFixed(2)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
    );
  }
  await db.close();
} finally {
  for (const server of servers.reverse()) await server.remove();
  rmSync(folder, { recursive: true });
}

/** Changes new transfers for some seconds. Times are in ms. */
async function measure(db, clientId) {
  const { rows } = await db.pool.query(TRANSFERS, [clientId, seconds * 6_000]);
  const transfers = rows.map(({ id }) => id);
  const lease = { token: newId(), full: [] };
  const handover = { retryDelays: [0], lease: () => lease, committed() {}, queued() {} };
  const times = [];
  const start = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() - start < seconds * 1_000) {
        const transferId = transfers.pop();
        if (!transferId) throw new Error('there are too few transfers');
        const before = performance.now();
        await changeStatus(db, handover, { transferId, to: 'PROCESSING', reason: null });
        times.push(performance.now() - before);
      }
    }),
  );
  times.sort((a, b) => a - b);
  const rate = (times.length * 1_000) / (performance.now() - start);
  return { rate, p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}
