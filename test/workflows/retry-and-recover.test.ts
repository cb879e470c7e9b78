import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { newId } from '../../src/ids.js';
import type { DeliverOutcome, DeliverRequest } from '../../workflows/deliver-event.activities.js';
import { delivery, workflowWorker } from '../support/run-workflow.js';
import { startTimeSkipping } from '../support/time-skipping.js';

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await startTimeSkipping();
}, 120_000);
afterAll(() => env?.teardown());

describe('retryDelivery', () => {
  it("asks for the attempt after the row's last attempt when Postgres was restored from a backup", async () => {
    const asked: number[] = [];
    const attemptCounts = { 6: 2, 3: 3 } as Record<number, number>;
    const activities = {
      async deliver({ number }: DeliverRequest): Promise<DeliverOutcome> {
        asked.push(number);
        const attemptCount = attemptCounts[number] ?? number;
        return {
          status: number === 3 ? 'succeeded' : 'failed',
          reason: null,
          attemptCount,
          lastOutcome: '204',
          wait: null,
        };
      },
    };
    const { worker, taskQueue } = await workflowWorker(env, activities);
    const { host, deliveryId, webhookId } = delivery();
    const input = { deliveryId, webhookId, host, clientId: newId(), number: 6, owner: null };
    const outcome = await worker.runUntil(
      env.client.workflow.execute('retryDelivery', { taskQueue, workflowId: newId(), args: [input] }),
    );
    expect(asked).toEqual([6, 3]);
    expect(outcome).toMatchObject({ status: 'succeeded', attemptCount: 3 });
  });
});

describe('recoverEndpoint', () => {
  it('recovers batch after batch until no delivery is left', async () => {
    const asked: (string | null)[] = [];
    const activities = {
      async recoverBatch({ after }: { after: string | null }) {
        asked.push(after);
        return asked.length < 3 ? { recovered: 20, after: `d${asked.length}` } : { recovered: 7, after: null };
      },
    };
    const { worker, taskQueue } = await workflowWorker(env, activities);
    const scope = { clientId: newId(), webhookId: newId(), host: 'hooks.example.com', since: 0, until: 1, count: 47 };
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [scope] }),
    );
    expect(recovered).toBe(47);
    expect(asked).toEqual([null, 'd1', 'd2']);
  });

  const scope = { clientId: newId(), webhookId: newId(), host: 'hooks.example.com', since: 0, until: 1, count: 40 };

  it('makes the missing deliveries after the last batch of the others, and only the last phase ends the recover', async () => {
    const asked: unknown[] = [];
    const batches = (phase: string, results: { recovered: number; after: string | null }[]) => {
      return async ({ after, recoverId }: { after: string | null; recoverId?: string }) => {
        asked.push([phase, after, recoverId]);
        return results.shift();
      };
    };
    const { worker, taskQueue } = await workflowWorker(env, {
      recoverBatch: batches('ended', [
        { recovered: 20, after: 'd' },
        { recovered: 3, after: null },
      ]),
      deliverMissingBatch: batches('missing', [
        { recovered: 20, after: 'e' },
        { recovered: 0, after: null },
      ]),
    });
    const input = { ...scope, recoverId: 'r', includeMissing: true, missing: 20 };
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [input] }),
    );
    expect(recovered).toBe(43);
    expect(asked).toEqual([
      ['ended', null, undefined],
      ['ended', 'd', undefined],
      ['missing', null, 'r'],
      ['missing', 'e', 'r'],
    ]);
  });
});
