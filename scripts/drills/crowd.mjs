#!/usr/bin/env node
// 10,000 endpoints (500 clients with 20 each) return 503 at once. One further client has a receiver that accepts.
// Prints the effect on that client, and the time of the crowd's last first attempt and last second attempt.
// `node scripts/drills/crowd.mjs [--clients 500] [--rate 20] [--limit 600]`
import { parseArgs } from 'node:util';
import { startBench } from '../../dist/bench/bench.js';
import { during } from '../../dist/bench/ending.js';
import { measure } from '../../dist/bench/measure.js';
import { readMemory } from '../../dist/bench/meter.js';
import { readOptions } from '../../dist/bench/options.js';
import { makeWarmTenant, withService } from '../../dist/bench/site.js';
import { startStack } from '../../dist/bench/stack.js';
import { makeTenants, makeTransfers } from '../../dist/bench/tenants.js';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '500' },
    rate: { type: 'string', default: '20' },
    limit: { type: 'string', default: '600' },
  },
});
const [clients, rate, limit] = [values.clients, values.rate, values.limit].map(Number);
const startedAt = performance.now();
const seconds = () => (performance.now() - startedAt) / 1_000;
const say = (line) => console.error(`${seconds().toFixed(0).padStart(5)} s  ${line}`);
const EACH = 20;
const WINDOW = 15 * rate;
const COLUMNS = ['p50 ms', 'p99 ms', 'response p50 ms', 'response p99 ms', 'lost', 'errors'];
const STANDING = `
  select count(*) filter (where d.attempt_count >= 1)::int as first, count(*) filter (where d.attempt_count >= 2)::int as second,
         (select count(*)::int from outbox) as "in the outbox"
    from deliveries d where d.client_id = any($1::uuid[])`;

const options = readOptions(['--events', '200']);
await during(startBench(options, say), (quiet) =>
  during(startBench(options, say), (crowded) =>
    during(startStack(say), (stack) =>
      withService(quiet, stack, { workflows: 'every-event' }, async (site) => {
        const well = await makeWarmTenant(site);
        const crowd = await makeTenants(stack, crowded.receiver.origin, { clients, endpointsEach: EACH });
        await crowded.receiver.clear('fail');
        const parts = { ...site.service.parts, ...stack.servers.parts };
        const ids = crowd.clients.map(({ id }) => id);
        const windows = [];
        const load = async (when) => {
          const transfers = await makeTransfers(stack, well, WINDOW);
          const { speed } = await measure(site, { transfers, endpointsEach: 1, rate, untilQuiet: false });
          const standing = (await stack.database.query(STANDING, [ids])).rows[0];
          const memory = Object.entries(readMemory(parts)).map(([part, mib]) => [`${part} MiB`, Math.round(mib)]);
          const figures = COLUMNS.map((name) => [name, Math.round(speed[name] * 10) / 10]);
          windows.push({ when, ...Object.fromEntries(figures), ...standing, ...Object.fromEntries(memory) });
          say(JSON.stringify(windows.at(-1)));
          return standing;
        };
        await load('before');
        const begun = seconds();
        const flood = crowded.generator.ask({
          baseUrls: site.service.apis,
          token: await site.service.token(),
          transfers: await makeTransfers(stack, crowd, clients),
          connections: 32,
          rate: 0,
        });
        for (;;) {
          const { second } = await load(`${Math.round(seconds() - begun)} s after`);
          if (second >= clients * EACH || seconds() - begun > limit) break;
        }
        await flood;
        await load('at rest');
        console.table(windows);
      }),
    ),
  ),
);
process.exit();
