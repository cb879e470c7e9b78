#!/usr/bin/env node
// Fills in past events, runs the service at a steady load, triggers the Schedule with RETENTION=1d, and prints how fast
// the events are removed and the effect on the load. `node scripts/drills/retention.mjs [--events 1000000] [--rate 20]
// [--limit 1200]`: after `limit` seconds it stops.
import { parseArgs } from 'node:util';
import { startBench } from '../../dist/bench/bench.js';
import { during } from '../../dist/bench/ending.js';
import { measure } from '../../dist/bench/measure.js';
import { readOptions } from '../../dist/bench/options.js';
import { fillPast, settle } from '../../dist/bench/past.js';
import { makeWarmTenant, withService } from '../../dist/bench/site.js';
import { startStack } from '../../dist/bench/stack.js';
import { makeTransfers } from '../../dist/bench/tenants.js';
import { say, seconds } from './say.mjs';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '20' },
    limit: { type: 'string', default: '1200' },
  },
});
const [events, rate, limit] = [values.events, values.rate, values.limit].map(Number);
/** Changes in one window of the load, about 20 s. */
const WINDOW = 20 * rate;
const COLUMNS = ['p50 ms', 'p99 ms', 'response p50 ms', 'response p99 ms', 'lost', 'repeated', 'errors'];
const SIZES = `
  select relname as table, n_live_tup::int as rows, n_dead_tup::int as dead, n_tup_del::int as removed,
         autovacuum_count::int as vacuums, pg_size_pretty(pg_total_relation_size(relid)) as size
    from pg_stat_user_tables where relname in ('events', 'deliveries', 'attempts') order by relname`;

await during(startBench(readOptions(['--events', '200']), say), (bench) =>
  during(startStack(say), async (stack) => {
    const choice = { workflows: 'retries-only', env: { RETENTION: '1d' } };
    await withService(bench, stack, choice, async (site) => {
      const { database, temporal } = stack;
      const tenant = await makeWarmTenant(site);
      await fillPast(stack, tenant, events, say);
      await settle(stack);
      const sizes = async () => (await database.query(SIZES)).rows;
      const removedSoFar = async () => (await sizes()).find(({ table }) => table === 'events').removed;
      const windows = [];
      const load = async (when) => {
        const { speed } = await measure(site, {
          transfers: await makeTransfers(stack, tenant, WINDOW),
          endpointsEach: 1,
          rate,
        });
        const row = { when, ...Object.fromEntries(COLUMNS.map((name) => [name, Math.round(speed[name] * 10) / 10])) };
        windows.push(row);
        say(JSON.stringify(row));
      };
      await load('before');
      await load('before');
      console.table(await sizes());

      const begun = seconds();
      const before = await removedSoFar();
      // The removal may end in the middle of a window of the load.
      let [removed, took] = [0, 0];
      const look = async () => {
        const now = (await removedSoFar()) - before;
        if (now > removed) [removed, took] = [now, seconds() - begun];
      };
      const looking = setInterval(() => void look().catch((error) => say(error.message)), 1_000);
      await temporal.schedule.getHandle('retention').trigger();
      const isRunning = async () => {
        for await (const _ of temporal.workflow.list({
          query: `WorkflowType = 'removeExpired' AND ExecutionStatus = 'Running'`,
        }))
          return true;
        return false;
      };
      do {
        await load('while');
        say(`${removed} events removed in ${took.toFixed(0)} s`);
      } while ((await isRunning()) && seconds() - begun < limit);
      clearInterval(looking);
      await look();
      const finished = !(await isRunning());
      console.table(await sizes());
      if (finished) await load('after');
      console.table(windows);
      console.log(
        `${removed} of about ${Math.round((events * 29) / 30)} events removed in ${took.toFixed(0)} s${finished ? '' : ' (not finished)'}: ${(removed / took).toFixed(0)}/s`,
      );
    });
  }),
);
process.exit();
