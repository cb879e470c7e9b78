#!/usr/bin/env node
// A transaction holds its snapshot for ten minutes while the service delivers at full speed, so that Postgres keeps
// every dead row of the queue. Prints the rate and CPU of each round, and the size of the queue. Exits with 1 if an
// event is lost.
// `node scripts/drills/held-snapshot.mjs [--minutes 10]`
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startBench } from '../../dist/bench/bench.js';
import { during } from '../../dist/bench/ending.js';
import { readOptions } from '../../dist/bench/options.js';
import { makeWarmTenant, measureChanges, withService } from '../../dist/bench/site.js';
import { startStack } from '../../dist/bench/stack.js';
import { say } from './say.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const lasting = Number(values.minutes) * 60_000;
const COLUMNS = ['delivered/s', 'p50 ms', 'p99 ms', 'response p99 ms', 'lost', 'errors'];
const SIZE = `select pg_total_relation_size('queue') / 1024 / 1024 as mib`;

const options = readOptions([]);
let lost = 0;
await during(startBench(options, say), (bench) =>
  during(startStack(say), (stack) =>
    withService(bench, stack, { workflows: 'retries-only' }, async (site) => {
      const tenant = await makeWarmTenant(site);
      const rows = [];
      const round = async (when) => {
        const { speed, cost } = await measureChanges({ ...site, tenant }, options.events, { untilQuiet: false });
        const figures = Object.fromEntries(COLUMNS.map((name) => [name, Math.round(speed[name])]));
        const { mib } = (await stack.database.query(SIZE)).rows[0];
        const cpu = { 'service ms': cost['service ms'].toFixed(2), 'postgres ms': cost['postgres ms'].toFixed(2) };
        rows.push({ when, ...figures, ...cpu, 'queue MiB': Number(mib) });
        lost += speed.lost + speed.errors;
        say(JSON.stringify(rows.at(-1)));
      };
      for (let i = 0; i < 3; i++) await round('before');
      const reader = new pg.Client({ connectionString: stack.env.DATABASE_URL });
      await reader.connect();
      await reader.query('begin isolation level repeatable read');
      await reader.query('select count(*) from queue');
      const held = performance.now();
      while (performance.now() - held < lasting) {
        await round(`snapshot held for ${((performance.now() - held) / 1_000).toFixed(0)} s`);
      }
      await reader.query('commit');
      await reader.end();
      for (let i = 0; i < 3; i++) await round('after');
      console.table(rows);
    }),
  ),
);
process.exit(lost > 0 ? 1 : 0);
