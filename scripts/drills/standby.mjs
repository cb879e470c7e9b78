#!/usr/bin/env node
// A primary with a streaming standby under load. Their link breaks, and some seconds later the primary is killed and the
// standby promoted: once with an asynchronous standby and once with a synchronous one. Prints what was acknowledged and
// is lost, and how the runbook finds it. The exit code is 1 if more is lost than must be, or if a lost change that arrived
// is not found. `npm run build`, then `node scripts/drills/standby.mjs [--rate 20] [--broken 2]`.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { waitFor } from '../../dist/test/support/wait-for.js';
import { backUp, connectionTo } from './postgres-servers.mjs';
import { withSite } from './restored-site.mjs';

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '20' }, broken: { type: 'string', default: '2' } },
});
const [rate, broken] = [Number(values.rate), Number(values.broken)];

const table = {};
for (const mode of ['asynchronous', 'synchronous']) {
  const result = await withSite((site) => failOver(site, mode));
  for (const [name, value] of Object.entries(result)) table[name] = { ...table[name], [mode]: value };
}
console.table(table);
process.exit();

async function failOver({ folder, addServer, addRelay, start }, mode) {
  const primary = await addServer();
  const link = await addRelay(primary.port);
  const backup = await backUp(primary, join(folder, 'base.tar'));
  const settings = [`primary_conninfo=${connectionTo(link.port)}`];
  const standby = await addServer({ backup, signal: 'standby', settings });
  const streams = async () => (await primary.query('select state from pg_stat_replication'))[0]?.state === 'streaming';
  await waitFor('the standby to stream', streams);
  if (mode === 'synchronous') {
    await primary.query(`alter system set synchronous_standby_names = '*'`);
    await primary.query('select pg_reload_conf()');
  }
  // The address that a failover moves.
  const address = await addRelay(primary.port);
  const site = await start(address.port, rate);
  await sleep(10_000);
  const since = new Date().toISOString();
  link.move(undefined);
  await sleep(broken * 1_000);
  const killedAt = Date.now();
  await primary.kill();
  await standby.query('select pg_promote(true, 60)');
  address.move(standby.port);
  const recovered = await site.untilAcknowledged(killedAt);
  await sleep(10_000);
  const result = await site.judge(since, killedAt);
  if (mode === 'synchronous' && result['of them lost'] > 0) process.exitCode = 1;
  return { ...result, 'killed until a change is acknowledged, s': recovered };
}
