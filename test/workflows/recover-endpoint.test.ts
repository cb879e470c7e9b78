import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { newId } from '../../src/platform/ids.js';
import { workflowWorker } from '../support/run-workflow.js';
import { startTimeSkipping } from '../support/time-skipping.js';

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await startTimeSkipping();
}, 120_000);
afterAll(() => env?.teardown());

describe('recoverEndpoint', () => {
  const scope = {
    ...{ recoverId: newId(), clientId: newId(), webhookId: newId(), host: 'hooks.example.com' },
    ...{ since: 0, until: 1, count: 47, includeMissing: false, missing: 0 },
  };

  it('recovers batch after batch until no delivery is left', async () => {
    const asked: (string | null)[] = [];
    const activities = {
      async recoverBatch({ after }: { after: string | null }) {
        asked.push(after);
        return asked.length < 3 ? { recovered: 20, after: `d${asked.length}` } : { recovered: 7, after: null };
      },
    };
    const { worker, taskQueue } = await workflowWorker(env, activities);
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [scope] }),
    );
    expect(recovered).toBe(47);
    expect(asked).toEqual([null, 'd1', 'd2']);
  });

  it('makes the missing deliveries after the last batch of the others, and only the last phase ends the recover', async () => {
    const asked: unknown[] = [];
    const batches = (phase: string, results: { recovered: number; after: string | null }[]) => {
      return async ({ after, endsRecover }: { after: string | null; endsRecover: boolean }) => {
        asked.push([phase, after, endsRecover]);
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
    const input = { ...scope, includeMissing: true, missing: 20 };
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [input] }),
    );
    expect(recovered).toBe(43);
    expect(asked).toEqual([
      ['ended', null, false],
      ['ended', 'd', false],
      ['missing', null, true],
      ['missing', 'e', true],
    ]);
  });
});
