#!/usr/bin/env node
// 100,000 deliveries of one endpoint are overdue, and its receiver works again. 200 other clients, and the client of
// that endpoint, change statuses meanwhile. Prints first deliveries before and meanwhile, and how long the backlog took.
// Exits with 1 if a delivery is lost, or if the p99 of fresh deliveries is above 1 s.
// `node scripts/drills/comeback.mjs [--overdue 100000] [--clients 200] [--rate 40]`
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
  options: {
    overdue: { type: 'string', default: '100000' },
    clients: { type: 'string', default: '200' },
    rate: { type: 'string', default: '40' },
  },
});
const [overdue, clients, rate] = [values.overdue, values.clients, values.rate].map(Number);
const WINDOW = 15;
const LIMIT = 1_000;

/** Copies one event of the endpoint, each copy with its own body and id, asleep before attempt 3 until an hour ago. */
const OVERDUE = `
  with one as (
    select * from events where client_id = $1::uuid limit 1
  ), made as (
    insert into events (id, client_id, transfer_id, type, body, created_at, outbox)
    select n.id, v.client_id, v.transfer_id, v.type, replace(v.body, v.id::text, n.id::text), v.created_at, 'done'
      from one v cross join lateral (
        select (substr(v.id::text, 1, 13) || '-7' || substr(gen_random_uuid()::text, 16))::uuid as id
          from generate_series(1, $2::int)) n
    returning id
  )
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, ladder, rung, attempt_count, asleep)
  select gen_random_uuid(), id, $3::uuid, $1::uuid, now() - interval '1 hour', '0s,5m,30m', 2, 2, true from made`;
const LEFT = `select count(*)::int as left from deliveries where endpoint_id = $1::uuid and status = 'pending'`;

const options = readOptions(['--connections', '16']);
let failed = false;
await during(startBench(options, say), (fresh) =>
  during(startBench(options, say), (back) =>
    during(startStack(say), (stack) =>
      withService(fresh, stack, { workflows: 'retries-only' }, async (site) => {
        const others = await makeTenants(stack, fresh.receiver.origin, { clients, endpointsEach: 1 });
        const own = await makeTenants(stack, back.receiver.origin, { clients: 1, endpointsEach: 1 });
        const [{ id: clientId, endpoints }] = own.clients;
        const left = async () => (await stack.database.query(LEFT, [endpoints[0]])).rows[0].left;
        const rows = [];
        /** A window of changes of one set of clients. */
        const load = async (bench, tenants, each) => {
          const transfers = await makeTransfers(stack, tenants, WINDOW * each);
          return (await measure({ ...site, bench }, { transfers, endpointsEach: 1, rate: each, untilQuiet: false }))
            .speed;
        };
        const window = async (when) => {
          const [speed, ownSpeed] = await Promise.all([load(fresh, others, rate), load(back, own, rate / 10)]);
          const row = { when, left: await left() };
          for (const [whose, figures] of Object.entries({ others: speed, own: ownSpeed })) {
            for (const name of ['p50 ms', 'p99 ms', 'errors']) row[`${whose} ${name}`] = Math.round(figures[name]);
            failed ||= figures.errors > 0 || figures['p99 ms'] > LIMIT;
          }
          // The copies report the transfer of one event: their receiver counts them as one extra arrival.
          row.lost = speed.lost + Math.max(0, ownSpeed.lost);
          failed ||= row.lost > 0;
          rows.push(row);
          say(JSON.stringify(row));
          return row;
        };
        await window('before');
        await stack.database.query(OVERDUE, [clientId, overdue, endpoints[0]]);
        await stack.database.query('analyze');
        const begun = performance.now();
        let row;
        do row = await window(`${((performance.now() - begun) / 1_000).toFixed(0)} s after`);
        while (row.left > 0 && performance.now() - begun < 1_800_000);
        console.table(rows);
        failed ||= row.left > 0;
      }),
    ),
  ),
);
process.exit(failed ? 1 : 0);
