import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { newId } from '../../src/platform/ids.js';
import type { RecoverBatchRequest, RecoveredBatch, RecoveryPosition } from '../../workflows/recover-endpoint.js';
import { workflowWorker } from '../support/run-workflow.js';
import { startTimeSkipping } from '../support/time-skipping.js';

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await startTimeSkipping();
}, 120_000);
afterAll(() => env?.teardown());

describe('recoverEndpoint', () => {
  const scope = {
    ...{ clientId: newId(), webhookId: newId(), host: 'hooks.example.com' },
    ...{ since: 0, until: 1, count: 47, includeMissing: false, missing: 0 },
  };

  async function run(input: typeof scope, results: RecoveredBatch[]) {
    const asked: RecoveryPosition[] = [];
    const activities = {
      async recoverBatch({ from }: RecoverBatchRequest) {
        asked.push(from);
        return results[asked.length - 1];
      },
    };
    const { worker, taskQueue } = await workflowWorker(env, activities);
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [input] }),
    );
    return { recovered, asked };
  }
  const at = (phase: RecoveryPosition['phase'], after: string | null) => ({ phase, after });

  it('recovers batch by batch, each from where the previous one ended', async () => {
    const results = [
      { recovered: 20, next: at('ended', 'd1') },
      { recovered: 20, next: at('ended', 'd2') },
      { recovered: 0, next: at('missing', null) },
      { recovered: 7, next: null },
    ];
    const { recovered, asked } = await run(scope, results);
    expect(recovered).toBe(47);
    expect(asked).toEqual([at('ended', null), at('ended', 'd1'), at('ended', 'd2'), at('missing', null)]);
  });
});
