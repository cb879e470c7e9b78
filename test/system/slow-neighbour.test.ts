import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { must } from '../support/caller.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Two endpoints of one client. One rejects its first request; the other responds only when that one was tried again.

const localDir = makeLocalDir();
let service: ServiceProcess;
let refusing: RawReceiver;
let slow: RawReceiver;
const retried = Promise.withResolvers<void>();

beforeAll(async () => {
  refusing = await startRawReceiver((socket, number) => {
    if (number === 2) retried.resolve();
    socket.write(`HTTP/1.1 ${number === 1 ? 500 : 204} x\r\ncontent-length: 0\r\n\r\n`);
  });
  slow = await startRawReceiver((socket) => {
    void retried.promise.then(() => socket.write('HTTP/1.1 204 x\r\ncontent-length: 0\r\n\r\n'));
  });
  service = await startService(localDir.path, { DELIVERY_RETRY_DELAYS: '0s,1h' });
  for (const { url } of [refusing, slow]) {
    await must(service.client('POST', '/webhook-endpoints', { url, secret: SECRET }));
  }
});

afterAll(async () => {
  await service?.stop();
  await Promise.all([refusing?.close(), slow?.close()]);
  await localDir.remove();
});

test('an immediate retry does not wait for the response of another endpoint of the event', async () => {
  const { client } = service;
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
