import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import { atOnce, changeAll, makeTransfers } from '../support/load.js';
import { type Production, startProduction } from '../support/production.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// A recovering endpoint is not overloaded by its waiting deliveries.

const PER_WORKER = 10;
/** `npm run bench:isolation` takes two hundred. */
const LONG = process.env.ISOLATION === 'long';
const TO_RECOVER = LONG ? 120 : 40;
const ASLEEP = LONG ? 80 : 30;
const FRESH = LONG ? 60 : 30;

let production: Production;
let client: Caller;
let receiver: RawReceiver;
let up = false;
let inFlight = 0;
let most = 0;

beforeAll(async () => {
  production = await startProduction({ DELIVERY_RETRY_DELAYS: '0s,1h' });
  client = await production.newClient('its receiver was down');
  receiver = await startRawReceiver(async (socket) => {
    if (!up) {
      socket.write('HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    most = Math.max(most, ++inFlight);
    // Long enough for more requests to arrive meanwhile, if the limit allows them.
    await sleep(150);
    inFlight--;
    socket.write('HTTP/1.1 204 x\r\n\r\n');
  });
}, 120_000);

afterAll(async () => {
  await production?.stop();
  await receiver?.close();
}, 60_000);

async function change(count: number): Promise<void> {
  const { done, others } = changeAll(client, await makeTransfers(client, count), 'PROCESSING');
  await done;
  expect(others).toEqual({});
}

test.each([1, 2])(
  'an endpoint that recovers has at most ten requests in flight from each of %s workers, after retries and a recovery',
  async (workers) => {
    production.startWorker();
    for (const { webhookId } of (await must(client('GET', '/webhook-endpoints'))).data) {
      await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
    }
    up = false;
    most = 0;
    const { url } = receiver;
    const { webhookId } = await must(client('POST', '/webhook-endpoints', { url, secret: SECRET }));
    const enable = (enabled: boolean) => must(client('PUT', `/webhook-endpoints/${webhookId}`, { url, enabled }));
    const deliveries = async (status: string, count: number) => {
      const found: { id: string; attempt_count: number }[] = [];
      let cursor = '';
      do {
        const page = await must(
          client('GET', `/webhook-endpoints/${webhookId}/deliveries?status=${status}&limit=100${cursor}`),
        );
        found.push(...page.data);
        cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
      } while (cursor !== '');
      return found.length === count ? found : undefined;
    };
    const asleep = (count: number) =>
      waitFor(
        'deliveries to sleep on the second rung',
        async () => {
          const pending = await deliveries('pending', count);
          return pending?.every((delivery) => delivery.attempt_count === 2) && pending;
        },
        60_000,
      );

    await change(TO_RECOVER);
    await asleep(TO_RECOVER);
    await enable(false);
    await enable(true);
    await change(ASLEEP);
    const sleeping = await asleep(ASLEEP);

    up = true;
    await Promise.all([
      must(client('POST', `/webhook-endpoints/${webhookId}/recover`, { since: '2026-01-01T00:00:00Z' })),
      atOnce(16, sleeping, async ({ id }) => must(client('POST', `/deliveries/${id}/retry`))),
      change(FRESH),
    ]);
    await waitFor('all to be delivered', () => deliveries('succeeded', TO_RECOVER + ASLEEP + FRESH), 120_000);
    expect(most).toBeLessThanOrEqual(PER_WORKER * workers);
    // The limit was reached: the load was large enough.
    expect(most).toBeGreaterThanOrEqual(PER_WORKER - 2);
  },
  240_000,
);
