#!/usr/bin/env node
// Runs the whole service, including native code, with a clock an hour ahead and then an hour behind Postgres's and
// Temporal's clocks (Debian's package `faketime`). One receiver accepts, one returns 500. Prints what each got and what
// is planned. `node scripts/drills/clock.mjs`; test/long/bad-hours.test.ts has a short form with a jump of the clock
// during the run.
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { caller, must } from '../../dist/test/support/caller.js';
import { runCli } from '../../dist/test/support/cli.js';
import { makeTransfers } from '../../dist/test/support/load.js';
import { makeLocalDir } from '../../dist/test/support/local-dir.js';
import { startRole } from '../../dist/test/support/role-process.js';
import { startStackProcess } from '../../dist/test/support/stack-process.js';
import { waitFor } from '../../dist/test/support/wait-for.js';

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
if (!existsSync(LIBRARY)) throw new Error('install faketime');
const SECRET = 'a-secret-of-16-characters-or-more';
const LADDER = '0s,5s,1h';
const CHANGES = 20;

const got = { '/well': [], '/failing': [] };
const receiver = createServer((request, response) => {
  got[request.url]?.push(/t=([^,]+)/.exec(request.headers['service-signature'])[1]);
  response.writeHead(request.url === '/well' ? 204 : 500).end();
}).listen(0, '127.0.0.1');
const place = makeLocalDir();
const stack = await startStackProcess(place.path);
const env = { ...stack.env, LOG_LEVEL: 'warn', DELIVERY_RETRY_DELAYS: LADDER };
await runCli(['migrate'], env);
const credentials = JSON.parse((await runCli(['clients', 'create', '--json', '--name', 'clock'], env)).stdout);
for (const ahead of ['+1h', '-1h']) {
  const clock = { LD_PRELOAD: LIBRARY, FAKETIME: ahead, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const service = startRole('start', { ...env, ...clock });
  await service.ready;
  const client = await caller({ auth_url: env.AUTH_URL, base_url: env.BASE_URL }, credentials);
  const endpoints = [];
  for (const path of Object.keys(got)) {
    got[path] = [];
    const url = `http://127.0.0.1:${receiver.address().port}${path}`;
    endpoints.push(await must(client('POST', '/webhook-endpoints', { url, secret: SECRET })));
  }
  const deliveriesOf = async ({ webhookId }) =>
    (await must(client('GET', `/webhook-endpoints/${webhookId}/deliveries?limit=100`))).data;
  const ids = await makeTransfers(client, CHANGES);
  for (const id of ids) await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  const asleep = async () => (await deliveriesOf(endpoints[1])).every((one) => one.attempt_count === 3);
  await waitFor('three attempts at each failing one', asleep, 120_000);
  // A wrong lease would show as one attempt too many.
  await sleep(35_000);
  const off = Math.round((Date.parse(got['/well'][0]) - Date.now()) / 60_000);
  const planned = (await deliveriesOf(endpoints[1])).map((one) =>
    Math.round((Date.parse(one.next_attempt_at) - Date.now()) / 60_000),
  );
  console.log(
    `${ahead}: ${CHANGES} changes; well got ${got['/well'].length}, failing ${got['/failing'].length} (3 each); signed ${off} min off; next attempts in ${[...new Set(planned)]} min`,
  );
  for (const { webhookId } of endpoints) await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
  for (const line of service.said.slice(0, 5)) console.log(line.slice(0, 300));
  await service.stop();
}
receiver.close();
await stack.stop();
await place.remove();
