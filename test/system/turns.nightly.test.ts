import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { createDeployment, type Deployment } from '../support/deployment.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Retries beside first attempts, and beside another endpoint, in the whole service.

let deployment: Deployment;
let service: RoleProcess;
const receivers: RawReceiver[] = [];

beforeAll(async () => {
  deployment = await createDeployment({ DELIVERY_RETRY_DELAYS: '0s,1s' });
  service = startRole('start', deployment.env);
  await service.ready;
});

afterAll(async () => {
  await service?.stop();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await deployment?.close();
});

async function startReceiver(...given: Parameters<typeof startRawReceiver>): Promise<RawReceiver> {
  const receiver = await startRawReceiver(...given);
  receivers.push(receiver);
  return receiver;
}

async function createClient(endpoints: readonly { url: string; max_concurrency?: number }[]): Promise<Caller> {
  const client = await deployment.createClient();
  for (const endpoint of endpoints) await must(client('POST', '/webhook-endpoints', { ...endpoint, secret: SECRET }));
  return client;
}

test('a retry gets its turn while first attempts wait for every slot of its endpoint', async () => {
  const COUNT = 120;
  /** The transfers of the requests, in order. */
  const arrived: string[] = [];
  const receiver = await startReceiver((socket, number) => {
    arrived.push(readDelivered(receiver.requests[number - 1] ?? '', SECRET).transferId);
    const status = number === 1 ? 503 : 204;
    setTimeout(() => socket.write(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`), 50);
  });
  const client = await createClient([{ url: receiver.url, max_concurrency: 1 }]);
  const transfers = await makeTransfers(client, COUNT);
  const { acknowledged, done } = changeAll(client, transfers, 'PROCESSING');
  await done;
  const retryAt = () => arrived.lastIndexOf(arrived[0] ?? '');
  // A change that was rejected on a busy machine has no event.
  await waitFor('every event and the retry', () => arrived.length > acknowledged.length && retryAt() > 0);
  const retry = retryAt();
  // It was due a second after the first attempt. The others took at least six seconds.
  expect(arrived.length - retry).toBeGreaterThan(COUNT / 4);
});

test('an immediate retry does not wait for the response of another endpoint of the event', async () => {
  const retried = Promise.withResolvers<void>();
  const refusing = await startReceiver((socket, number) => {
    if (number === 2) retried.resolve();
    socket.write(`HTTP/1.1 ${number === 1 ? 500 : 204} x\r\ncontent-length: 0\r\n\r\n`);
  });
  // It responds only when the other one was tried again.
  const slow = await startReceiver((socket) => {
    void retried.promise.then(() => socket.write('HTTP/1.1 204 x\r\ncontent-length: 0\r\n\r\n'));
  });
  const client = await createClient([{ url: refusing.url }, { url: slow.url }]);
  const { id: transferId } = await must(client('POST', '/transfers', transferRequest()));
  await must(client('POST', `/sandbox/transfers/${transferId}/status`, { status: 'PROCESSING' }));
  const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
  const deliveries = await waitFor('both deliveries to end', async () => {
    const { data } = await must(client('GET', `/events/${event.id}/deliveries`));
    return data.every(({ status }: { status: string }) => status !== 'pending') && data;
  });
  const ended = deliveries.map(({ status, attempt_count }: Record<string, unknown>) => `${status} ${attempt_count}`);
  expect(ended.sort()).toEqual(['succeeded 1', 'succeeded 2']);
  expect([refusing.requests.length, slow.requests.length]).toEqual([2, 1]);
});
