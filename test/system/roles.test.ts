import { expect, test } from '@jest/globals';
import { readDelivered } from '../support/delivered.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, as in production.

/** Requests up to this number get no response. */
let silentUntil = 0;
const service = await startService({
  roles: ['api'],
  receive: (socket, number) => number > silentUntil && socket.write('HTTP/1.1 204 x\r\n\r\n'),
});
const { call: client, receiver, running, untilDelivered } = service;
await service.register();

async function change(count: number): Promise<string[]> {
  const ids = await makeTransfers(client, count);
  const { done, others } = changeAll(client, ids, 'PROCESSING');
  await done;
  expect(others).toEqual({});
  return ids;
}

/** The number of arrivals of each transfer's event. */
function arrivals(ids: readonly string[]): number[] {
  const transferIds = receiver.requests.map((raw) => readDelivered(raw, SECRET).transferId);
  return ids.map((id) => transferIds.filter((one) => one === id).length);
}

test('changes are accepted without a worker, and the first worker that starts delivers their events', async () => {
  const ids = await change(5);
  expect(arrivals(ids)).toEqual([0, 0, 0, 0, 0]);
  await service.start('worker');
  await untilDelivered();
  expect(arrivals(ids)).toEqual([1, 1, 1, 1, 1]);
});

test('kill -9 of a worker: another worker takes over, and only attempts in flight arrive twice', async () => {
  silentUntil = receiver.requests.length + 10;
  const ids = await change(20);
  await waitFor('ten attempts in flight', () => receiver.requests.length >= silentUntil);
  running.worker.process.kill('SIGKILL');
  await running.worker.ended;
  await service.start('worker');
  await untilDelivered();
  const times = arrivals(ids);
  expect(times.filter((n) => n === 2)).toHaveLength(10);
  expect(times.filter((n) => n === 1)).toHaveLength(10);
});

test('SIGTERM of a worker: it finishes attempts in flight, and another worker has the rest at once', async () => {
  const ids = await makeTransfers(client, 40);
  const { acknowledged, done } = changeAll(client, ids, 'PROCESSING');
  await waitFor('some changes', () => acknowledged.length > 10);
  const { worker } = running;
  await Promise.all([service.start('worker'), worker.stop()]);
  expect(worker.process.exitCode).toBe(0);
  await done;
  await untilDelivered();
  expect(arrivals(ids)).toEqual(ids.map(() => 1));
});
