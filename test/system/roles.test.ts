import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Caller, must } from '../support/caller.js';
import { startCli } from '../support/cli.js';
import { readDelivered } from '../support/delivered.js';
import { createDeployment, type Deployment } from '../support/deployment.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, as in production.

const processes: ChildProcess[] = [];
let deployment: Deployment;
let client: Caller;
let receiver: RawReceiver;
/** Requests up to this number get no response. */
let silentUntil = 0;

beforeAll(async () => {
  deployment = await createDeployment();
  receiver = await startRawReceiver((socket, number) => {
    if (number > silentUntil) socket.write('HTTP/1.1 204 x\r\n\r\n');
  });
  const api = run('api');
  await once(createInterface({ input: api.stdout as NonNullable<typeof api.stdout> }), 'line');
  client = await deployment.createClient();
  await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
});

afterAll(async () => {
  await Promise.all(processes.map((child) => end(child, 'SIGTERM')));
  await receiver?.close();
  await deployment?.close();
});

function run(role: 'api' | 'worker'): ChildProcess {
  const child = startCli([role], deployment.env);
  child.stderr?.resume();
  processes.push(child);
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill(signal);
  await once(child, 'exit');
  return child.exitCode;
}

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

const untilDelivered = () =>
  waitFor('every delivery to succeed', async () => {
    const { prisma } = deployment.database;
    return (await prisma.delivery.count({ where: { status: { not: 'succeeded' } } })) === 0;
  });

let worker: ChildProcess;

test('changes are accepted without a worker, and the first worker that starts delivers their events', async () => {
  const ids = await change(5);
  expect(arrivals(ids)).toEqual([0, 0, 0, 0, 0]);
  worker = run('worker');
  await untilDelivered();
  expect(arrivals(ids)).toEqual([1, 1, 1, 1, 1]);
});

test('kill -9 of a worker: another worker takes over, and only attempts in flight arrive twice', async () => {
  silentUntil = receiver.requests.length + 10;
  const ids = await change(20);
  await waitFor('ten attempts in flight', () => receiver.requests.length >= silentUntil);
  await end(worker, 'SIGKILL');
  worker = run('worker');
  await untilDelivered();
  const times = arrivals(ids);
  expect(times.filter((n) => n === 2)).toHaveLength(10);
  expect(times.filter((n) => n === 1)).toHaveLength(10);
});

test('SIGTERM of a worker: it finishes attempts in flight, and another worker has the rest at once', async () => {
  const ids = await makeTransfers(client, 40);
  const { acknowledged, done } = changeAll(client, ids, 'PROCESSING');
  await waitFor('some changes', () => acknowledged.length > 10);
  const next = run('worker');
  expect(await end(worker, 'SIGTERM')).toBe(0);
  worker = next;
  await done;
  await untilDelivered();
  expect(arrivals(ids)).toEqual(ids.map(() => 1));
});
