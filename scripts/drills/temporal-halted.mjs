#!/usr/bin/env node
// Temporal is halted (SIGSTOP) for ten minutes while 40 statuses a second change, a third of them at a receiver that
// fails. Prints how late retries and first deliveries were, before, during and after. Exits with 1 if a delivery is
// lost, arrives without need a second time, or if a retry is more than 150 s late.
// `node scripts/drills/temporal-halted.mjs [--minutes 10] [--rate 40]`
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startBench } from '../../dist/bench/bench.js';
import { during } from '../../dist/bench/ending.js';
import { measure } from '../../dist/bench/measure.js';
import { readOptions } from '../../dist/bench/options.js';
import { withService } from '../../dist/bench/site.js';
import { startStack } from '../../dist/bench/stack.js';
import { makeTenants, makeTransfers } from '../../dist/bench/tenants.js';
import { say } from './say.mjs';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, rate: { type: 'string', default: '40' } },
});
const [minutes, rate] = [values.minutes, values.rate].map(Number);
/** Every attempt of a failing delivery falls into the outage, or is planned for a time after it. */
const LADDER = '0s,1m,2m,3m,5m';
const LATEST = 150;

/** An attempt is due after the end of the attempt before and the delay of its rung. */
const LATE = `
  with late as (
    select b.number, extract(epoch from b.started_at - a.started_at) - a.duration_ms / 1000.0
             - extract(epoch from (string_to_array(d.ladder, ',')::interval[])[a.number]) as s
      from attempts a join attempts b on b.delivery_id = a.delivery_id and b.number = a.number + 1
      join deliveries d on d.id = a.delivery_id
  )
  select number, count(*)::int as attempts, round(percentile_cont(0.5) within group (order by s)::numeric, 2)::float8 as "p50 s",
         round(percentile_cont(0.99) within group (order by s)::numeric, 2)::float8 as "p99 s", round(max(s), 2)::float8 as "most s"
    from late group by number order by number`;
const WRONG = `
  select (select count(*)::int from deliveries where status = 'pending') as pending,
         (select count(*)::int from queue) as queued,
         (select count(*)::int from deliveries d where d.attempt_count <> (select count(*) from attempts a where a.delivery_id = d.id)) as miscounted,
         (select count(*)::int from events where outbox <> 'done') as "without workflow"`;

const options = readOptions(['--connections', '16']);
let failed = false;
await during(startBench(options, say), (accepting) =>
  during(startBench(options, say), (failing) =>
    during(startStack(say), (stack) =>
      withService(
        accepting,
        stack,
        { workflows: 'every-event', env: { DELIVERY_RETRY_DELAYS: LADDER } },
        async (site) => {
          const well = await makeTenants(stack, accepting.receiver.origin, { clients: 2, endpointsEach: 1 });
          const ill = await makeTenants(stack, failing.receiver.origin, { clients: 1, endpointsEach: 1 });
          await failing.receiver.clear('fail');
          /** Both loads run for `seconds`; the figures are those of the two clients whose receivers accept. */
          const load = async (when, seconds) => {
            const [transfers, others] = await Promise.all([
              makeTransfers(stack, well, Math.round((seconds * rate * 2) / 3)),
              makeTransfers(stack, ill, Math.round((seconds * rate) / 3)),
            ]);
            const baseUrls = site.service.apis;
            const token = await site.service.token();
            const flood = failing.generator.ask({
              baseUrls,
              token,
              transfers: others,
              connections: 16,
              rate: rate / 3,
            });
            const { speed } = await measure(site, {
              transfers,
              endpointsEach: 1,
              rate: (rate * 2) / 3,
              untilQuiet: false,
            });
            const errors = Object.values((await flood).errors).reduce((sum, count) => sum + count, 0);
            const columns = ['p50 ms', 'p99 ms', 'response p50 ms', 'response p99 ms', 'lost', 'repeated', 'errors'];
            const row = {
              when,
              ...Object.fromEntries(columns.map((name) => [name, Math.round(speed[name] * 10) / 10])),
            };
            row.errors += errors;
            failed ||= row.lost + row.repeated + row.errors > 0;
            say(JSON.stringify(row));
            return row;
          };
          const windows = [await load('before', 60)];
          const [temporal] = stack.servers.parts.temporal;
          process.kill(temporal, 'SIGSTOP');
          say('Temporal is halted');
          try {
            for (let minute = 1; minute <= minutes; minute++) windows.push(await load(`halted, minute ${minute}`, 60));
          } finally {
            process.kill(temporal, 'SIGCONT');
          }
          say('Temporal continues');
          for (let minute = 1; minute <= 2; minute++) windows.push(await load(`after, minute ${minute}`, 60));
          console.table(windows);
          let wrong;
          for (let waited = 0; waited < 1_800; waited += 5) {
            await sleep(5_000);
            [wrong] = (await stack.database.query(WRONG)).rows;
            if (waited % 60 === 0) say(JSON.stringify(wrong));
            if (Object.values(wrong).every((count) => count === 0)) break;
          }
          const late = (await stack.database.query(LATE)).rows;
          console.table(late);
          console.log('at the end', wrong);
          failed ||= late.some((row) => row['most s'] > LATEST) || Object.values(wrong).some((count) => count > 0);
        },
      ),
    ),
  ),
);
process.exit(failed ? 1 : 0);
