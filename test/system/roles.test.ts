import { describe, expect, it } from '@jest/globals';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { must } from '../support/caller.js';
import { readDelivered } from '../support/delivered.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { makeItLongAgo } from '../support/long-ago.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, as in production. The API never reaches Temporal; each test continues with
// the processes that the one before it leaves.

const STEP = 1_000;
/** Requests up to this number get no response. */
let silentUntil = 0;
/** The receiver responds from then on. */
let opened = Promise.resolve();
const service = await startService({
  roles: ['api'],
  settings: { SANDBOX_STEP: `${STEP}ms` },
  faults: { api: { TEMPORAL_ADDRESS: '127.0.0.1:1' } },
  receive: async (socket, number) => {
    await opened;
    if (number > silentUntil) socket.write('HTTP/1.1 204 x\r\n\r\n');
  },
});
const { call: client, database, receiver, running, untilDelivered } = service;
const webhookId = await service.register();

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

/** Makes events whose deliveries are cancelled. No worker runs. @returns the start of the recovery's window */
async function cancelled(count: number): Promise<string> {
  const since = new Date().toISOString();
  await change(count);
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: false }));
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: true }));
  return since;
}
const recover = (since: string) => client('POST', `/webhook-endpoints/${webhookId}/recover`, { since });
const recovered = () =>
  waitFor('the end of the recovery', async () => (await database.prisma.workflowStart.count()) === 0);

const create = (account: string) => service.makeTransfer({ destination: { name: 'Ada', account } });
const read = (id: string) => must(client('GET', `/transfers/${id}`));
const until = (id: string, status: string) =>
  waitFor(`${id} to be ${status}`, async () => {
    const transfer = await read(id);
    return transfer.status === status && transfer;
  });
const workflowOf = (id: string) => service.temporal.client.workflow.getHandle(`sandbox-${id}`);

it('without a worker, changes, simulated transfers and recoveries are accepted; the first worker carries them out', async () => {
  expect(await recover(await cancelled(5))).toMatchObject({ status: 202, body: { count: 5, missing: 0 } });
  const ids = await change(5);
  const simulated = await create('SANDBOX-COMPLETE');
  expect(arrivals(ids)).toEqual([0, 0, 0, 0, 0]);
  await service.start('worker');
  await until(simulated, 'COMPLETED');
  await untilDelivered();
  await recovered();
  expect(arrivals(ids)).toEqual([1, 1, 1, 1, 1]);
  expect(receiver.requests).toHaveLength(5 + 5 + 3);
});

const OUTCOMES = [
  ['SANDBOX-COMPLETE', ['PROCESSING', 'SENT', 'COMPLETED'], null],
  ['SANDBOX-FAIL-INSUFFICIENT_FUNDS', ['PROCESSING', 'FAILED'], 'insufficient_funds'],
  ['SANDBOX-RETURN-ACCOUNT_CLOSED', ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED'], 'account_closed'],
  ['SANDBOX-CANCEL', ['CANCELLED'], 'customer_request'],
] as const;

describe('a simulated transfer', () => {
  it('has its statuses at least a step apart, one delivered event for each, and a workflow that shows them', async () => {
    await Promise.all(
      OUTCOMES.map(async ([account, statuses, reasonCode]) => {
        const id = await create(account);
        const last = statuses.at(-1)!;
        const { status_history: history, reason_code } = await until(id, last);
        expect(reason_code).toBe(reasonCode);
        expect(history.map((entry: { status: string }) => entry.status)).toEqual(['CREATED', ...statuses]);
        for (const [i, entry] of history.entries()) {
          expect(entry).toMatchObject({ reason: null, reason_code: i === statuses.length ? reasonCode : null });
          // Two clocks are compared: Temporal's timer and the time of the change.
          if (i > 0) expect(Date.parse(entry.at) - Date.parse(history[i - 1].at)).toBeGreaterThan(STEP - 200);
        }
        const events = await waitFor('the deliveries', async () => {
          const { data } = await must(client('GET', `/events?transfer_id=${id}`));
          return data.every((event: { deliveries: { succeeded: number } }) => event.deliveries.succeeded === 1) && data;
        });
        expect(events.map((event: { data: { status: string } }) => event.data.status).reverse()).toEqual(statuses);

        expect(await workflowOf(id).result()).toBe(last);
        const described = await workflowOf(id).describe();
        expect(described).toMatchObject({ type: 'sandboxTransfer', taskQueue: SANDBOX_TASK_QUEUE });
        expect(described.searchAttributes).toMatchObject({ TransferId: [id], ClientId: [expect.any(String)] });
        expect(await described.staticSummary()).toBe(`${account}: ${statuses.join(' → ')}`);
        const details = await workflowOf(id).query<string>('__temporal_workflow_metadata').then(JSON.stringify);
        for (const status of statuses) expect(details).toContain(status);
      }),
    );
    await untilDelivered();
  });

  it('ends its automatic steps when the client changes it manually, or cancels it', async () => {
    const [changed, cancelled] = await Promise.all([
      create('SANDBOX-COMPLETE'),
      waitFor('a transfer cancelled before its first step', async () => {
        const created = await create('SANDBOX-COMPLETE');
        return (await client('POST', `/transfers/${created}/cancel`)).status === 200 && created;
      }),
    ]);
    await until(changed, 'PROCESSING');
    await must(client('POST', `/sandbox/transfers/${changed}/status`, { status: 'FAILED', reason: 'manually' }));
    expect(await workflowOf(changed).result()).toBe('FAILED');
    const { stepsMade, endedAt } = await database.prisma.sandboxTransfer.findUniqueOrThrow({
      where: { transferId: changed },
    });
    // The second step may come before the change; then the last never comes.
    expect([1, 2]).toContain(stepsMade);
    const { status, status_history } = await read(changed);
    expect([status, status_history.length, endedAt]).toEqual(['FAILED', stepsMade + 2, expect.any(Date)]);
    expect(
      await waitFor('its workflow', () =>
        workflowOf(cancelled)
          .result()
          .catch(() => undefined),
      ),
    ).toBe('CANCELLED');
    expect((await read(cancelled)).status_history).toHaveLength(2);
  });

  it('continues from its last step when its workflow was terminated', async () => {
    const id = await create('SANDBOX-COMPLETE');
    await until(id, 'PROCESSING');
    await workflowOf(id).terminate();
    await database.query('update workflow_starts set start_after = now() where transfer_id = $1::uuid', [id]);
    expect((await until(id, 'COMPLETED')).status_history).toHaveLength(4);
    await untilDelivered();
  });
});

describe('a worker', () => {
  it('that is killed: another worker takes over, and only attempts in flight arrive twice', async () => {
    silentUntil = receiver.requests.length + 10;
    const ids = await change(20);
    await waitFor('ten attempts in flight', () => receiver.requests.length >= silentUntil);
    running.worker.process.kill('SIGKILL');
    await running.worker.ended;
    await makeItLongAgo(database, service.temporal.client);
    await service.start('worker');
    await untilDelivered();
    const times = arrivals(ids);
    expect(times.filter((n) => n === 2)).toHaveLength(10);
    expect(times.filter((n) => n === 1)).toHaveLength(10);
  });

  it('that gets SIGTERM finishes attempts in flight, and another worker has the rest at once', async () => {
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
});

it('a recovery whose worker is killed after its first batch goes on in another worker', async () => {
  const left = () => database.prisma.delivery.count({ where: { status: 'cancelled' } });
  await running.worker.stop();
  const since = await cancelled(60);
  expect((await recover(since)).body).toMatchObject({ count: 60, missing: 0 });
  const held = Promise.withResolvers<void>();
  opened = held.promise;
  await service.start('worker');
  await waitFor('the first batch', async () => (await left()) < 60);
  running.worker.process.kill('SIGKILL');
  await running.worker.ended;
  // Ten attempts are in flight and twenty may wait for them.
  expect(await left()).toBeGreaterThan(0);
  held.resolve();
  await makeItLongAgo(database, service.temporal.client);
  await service.start('worker');
  await untilDelivered();
  await recovered();
});
