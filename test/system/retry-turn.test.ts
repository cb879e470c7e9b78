import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// An endpoint with one attempt at a time. First attempts come faster than it responds.

const COUNT = 300;
/** ms */
const RESPONDS_AFTER = 30;

const localDir = makeLocalDir();
let service: ServiceProcess;
let receiver: RawReceiver;
/** The transfers of the requests, in order. */
const arrived: string[] = [];

beforeAll(async () => {
  receiver = await startRawReceiver((socket, number) => {
    arrived.push(readDelivered(receiver.requests[number - 1] ?? '', SECRET).transferId);
    const status = number === 1 ? 503 : 204;
    setTimeout(() => socket.write(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`), RESPONDS_AFTER);
  });
  service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS: '0s,1s' });
  await must(service.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET, max_concurrency: 1 }));
});

afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await localDir.remove();
});

test('a retry gets its turn while first attempts wait for every slot of its endpoint', async () => {
  const transfers = await makeTransfers(service.client, COUNT);
  const { acknowledged, done } = changeAll(service.client, transfers, 'PROCESSING');
  await done;
  const retryAt = () => arrived.lastIndexOf(arrived[0] ?? '');
  // A change that was rejected on a busy machine has no event.
  await waitFor('every event and the retry', () => arrived.length > acknowledged.length && retryAt() > 0);
  const retry = retryAt();
  // It was due a second after the first attempt. The others took some nine seconds.
  expect(arrived.length - retry).toBeGreaterThan(COUNT / 4);
});
