import { describe, expect, it } from '@jest/globals';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { must } from '../support/caller.js';
import { startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as separate processes, on a real Temporal. The API starts while Temporal is unavailable.

const STEP = 1_000;
const service = await startService({
  roles: ['api'],
  settings: { SANDBOX_STEP: `${STEP}ms` },
  faults: { api: { TEMPORAL_ADDRESS: '127.0.0.1:1' } },
});
const { call: client } = service;
await service.register();

const create = (account: string) => service.makeTransfer({ destination: { name: 'Ada', account } });
const read = (id: string) => must(client('GET', `/transfers/${id}`));
const until = (id: string, status: string) =>
  waitFor(`${id} to be ${status}`, async () => {
    const transfer = await read(id);
    return transfer.status === status && transfer;
  });
const workflowOf = (id: string) => service.temporal.client.workflow.getHandle(`sandbox-${id}`);

const OUTCOMES = [
  ['SANDBOX-COMPLETE', ['PROCESSING', 'SENT', 'COMPLETED'], null],
  ['SANDBOX-FAIL-INSUFFICIENT_FUNDS', ['PROCESSING', 'FAILED'], 'insufficient_funds'],
  ['SANDBOX-RETURN-ACCOUNT_CLOSED', ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED'], 'account_closed'],
  ['SANDBOX-CANCEL', ['CANCELLED'], 'customer_request'],
] as const;

describe('a simulated transfer', () => {
  it('is created while Temporal is unavailable, and moves when the workers are back', async () => {
    const id = await create('SANDBOX-COMPLETE');
    await service.start('worker');
    await until(id, 'COMPLETED');
  });

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
        const { data } = await must(client('GET', `/events?transfer_id=${id}`));
        expect(data.map((event: { data: { status: string } }) => event.data.status).reverse()).toEqual(statuses);
        await waitFor('the deliveries', async () => {
          const events = (await must(client('GET', `/events?transfer_id=${id}`))).data;
          return events.every((event: { deliveries: { succeeded: number } }) => event.deliveries.succeeded === 1);
        });

        expect(await workflowOf(id).result()).toBe(last);
        const described = await workflowOf(id).describe();
        expect(described).toMatchObject({ type: 'sandboxTransfer', taskQueue: SANDBOX_TASK_QUEUE });
        expect(described.searchAttributes).toMatchObject({ TransferId: [id], ClientId: [expect.any(String)] });
        expect(await described.staticSummary()).toBe(`${account}: ${statuses.join(' → ')}`);
        const details = await workflowOf(id).query<string>('__temporal_workflow_metadata').then(JSON.stringify);
        for (const status of statuses) expect(details).toContain(status);
      }),
    );
  });

  it('ends its automatic steps when the client changes it manually', async () => {
    const id = await create('SANDBOX-COMPLETE');
    await until(id, 'PROCESSING');
    await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'FAILED', reason: 'manually' }));
    expect(await workflowOf(id).result()).toBe('FAILED');
    const { status, status_history } = await read(id);
    expect(status).toBe('FAILED');
    const { endedAt, stepsMade } = await service.database.prisma.sandboxTransfer.findUniqueOrThrow({
      where: { transferId: id },
    });
    // The second step may come before the change; then the last never comes.
    expect([1, 2]).toContain(stepsMade);
    expect([status_history.length, endedAt]).toEqual([stepsMade + 2, expect.any(Date)]);
  });

  it('ends its automatic steps when the client cancels it', async () => {
    const id = await waitFor('a transfer cancelled before its first step', async () => {
      const created = await create('SANDBOX-COMPLETE');
      return (await client('POST', `/transfers/${created}/cancel`)).status === 200 && created;
    });
    await waitFor(
      'the workflow',
      async () =>
        (await workflowOf(id)
          .describe()
          .catch(() => undefined)) !== undefined,
    );
    expect(await workflowOf(id).result()).toBe('CANCELLED');
    expect((await read(id)).status_history).toHaveLength(2);
  });

  it('continues from its last step when its workflow was terminated', async () => {
    const id = await create('SANDBOX-COMPLETE');
    await until(id, 'PROCESSING');
    await workflowOf(id).terminate();
    await service.database.query('update workflow_starts set start_after = now() where transfer_id = $1::uuid', [id]);
    const { status_history } = await until(id, 'COMPLETED');
    expect(status_history).toHaveLength(4);
  });
});
