import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { type Delays, percentile, QuietClient, reportDelays } from '../support/quiet-client.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { startService } from '../support/service.js';
import { startSilentNameServer } from '../support/silent-name-server.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The receivers of one client do not delay another client. `npm run bench:isolation` is the long form, with numbers for
// each kind of receiver.

const LONG = process.env.ISOLATION === 'long';
const EVENTS = Number(process.env.ISOLATION_EVENTS ?? (LONG ? 500 : 200));
const TRICKLE = LONG ? 100 : 20;
const INTERVAL = 300;
/** The longest delay that another client may cause, ms. */
const BOUND = 2_000;

const nameServer = await startSilentNameServer();
const service = await startService({ roles: ['api', 'worker'], faults: { worker: nameServer.env } });
let silent: RawReceiver;
let quiet: QuietClient;
let alone: Delays;

beforeAll(async () => {
  silent = await startRawReceiver(() => undefined);
  quiet = await QuietClient.start(service.call);
  await quiet.trickle(5, 0);
  alone = await quiet.trickle(TRICKLE, INTERVAL);
  reportDelays('alone', alone);
}, 240_000);

afterAll(async () => {
  await quiet?.close();
  await silent?.close();
  nameServer.close();
}, 60_000);

const urlOf = {
  dead: () => 'http://127.0.0.1:1/',
  slow: () => silent.url,
  'without a DNS response': (i: number) => `http://hooks${i}.example.com/`,
};
type Kind = keyof typeof urlOf;
const KINDS = Object.keys(urlOf) as Kind[];

/** Makes twenty endpoints of these kinds, and a flood of events for them. */
async function makeNoise(kinds: readonly Kind[]): Promise<{ call: Caller; flood: Promise<void> }> {
  const { call } = await service.makeClient();
  for (let i = 0; i < 20; i++) {
    const url = urlOf[kinds[i % kinds.length] as Kind](i);
    await must(call('POST', '/webhook-endpoints', { url, secret: SECRET }));
  }
  const { acknowledged, done } = changeAll(call, await makeTransfers(call, EVENTS), 'PROCESSING');
  await waitFor('the flood', () => acknowledged.length > EVENTS / 4);
  return { call, flood: done };
}

const noises = (LONG ? KINDS.map((kind) => [kind]) : [KINDS]).map((kinds) => [kinds.join(', '), kinds] as const);

describe.each(noises)('twenty endpoints, %s', (_, kinds) => {
  test('another client waits at most 2 s longer for its deliveries and its immediate retries', async () => {
    const { call, flood } = await makeNoise(kinds);
    const beside = await quiet.trickle(TRICKLE, INTERVAL);
    await flood;
    const after = await quiet.trickle(TRICKLE, INTERVAL);
    reportDelays(`beside a flood to receivers ${kinds}`, beside);
    reportDelays(`after it, ${EVENTS * 20} deliveries waiting`, after);
    for (const { first, retry } of [beside, after]) {
      expect(percentile(first, 1)).toBeLessThan(percentile(alone.first, 1) + BOUND);
      expect(percentile(retry, 1)).toBeLessThan(percentile(alone.retry, 1) + BOUND);
    }
    if (kinds.includes('slow')) expect(silent.requests.length).toBeGreaterThanOrEqual(10);
    if (kinds.includes('without a DNS response')) expect(nameServer.asked()).toBeGreaterThan(0);
    for (const { webhookId } of (await must(call('GET', '/webhook-endpoints'))).data) {
      await must(call('DELETE', `/webhook-endpoints/${webhookId}`));
    }
  }, 600_000);
});
