import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import { type Production, startProduction } from '../support/production.js';
import { percentile, QuietClient, reportDelays } from '../support/quiet-client.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { SECRET, transferRequest } from '../support/transfers.js';

// A flood of simulated transfers does not delay the deliveries of another client. `npm run
// bench:isolation` is the long form.

const LONG = process.env.ISOLATION === 'long';
const TRICKLE = LONG ? 100 : 20;
const INTERVAL = 300;
/** Clients of the flood. Each creates as many transfers as its limit allows, 10 a second. */
const CLIENTS = 4;
/** The longest delay that the flood may cause, ms. */
const BOUND = 2_000;

let production: Production;
let receiver: RawReceiver;
let quiet: QuietClient;

beforeAll(async () => {
  production = await startProduction({ SANDBOX_STEP: '500ms' });
  receiver = await startRawReceiver((socket) => socket.write('HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n'));
  production.startWorker();
  quiet = await QuietClient.start(await production.newClient('quiet'));
  await quiet.trickle(5, 0);
}, 240_000);
afterAll(async () => {
  await production?.stop();
  await quiet?.close();
  await receiver?.close();
}, 60_000);

/** Creates transfers until `ended`. @returns how many were created */
async function flood(call: Caller, ended: () => boolean): Promise<number> {
  let created = 0;
  while (!ended()) {
    const json = transferRequest({ destination: { name: 'Ada', account: 'SANDBOX-RETURN-OTHER' } });
    const { status } = await call('POST', '/transfers', json);
    if (status === 201) created++;
    else await sleep(100);
  }
  return created;
}

test('another client waits at most 2 s longer for its deliveries beside a flood of sandbox transfers', async () => {
  const alone = await quiet.trickle(TRICKLE, INTERVAL);
  reportDelays('alone', alone);
  let ended = false;
  const floods: Promise<number>[] = [];
  for (let i = 0; i < CLIENTS; i++) {
    const call = await production.newClient(`flood ${i}`);
    await must(call('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
    floods.push(flood(call, () => ended));
  }
  await sleep(2_000);
  const beside = await quiet.trickle(TRICKLE, INTERVAL);
  ended = true;
  const created = (await Promise.all(floods)).reduce((sum, count) => sum + count, 0);
  reportDelays(
    `beside ${created} sandbox transfers of ${CLIENTS} clients, ${receiver.requests.length} of their events`,
    beside,
  );
  expect(created).toBeGreaterThan(TRICKLE);
  expect(receiver.requests.length).toBeGreaterThan(0);
  expect(percentile(beside.first, 1)).toBeLessThan(percentile(alone.first, 1) + BOUND);
  expect(percentile(beside.retry, 1)).toBeLessThan(percentile(alone.retry, 1) + BOUND);
}, 600_000);
