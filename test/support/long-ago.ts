import type { Client } from '@temporalio/client';
import { expireLeases } from './expire-leases.js';
import { atOnce } from './load.js';

/**
 * Makes the state look as if the dead processes had died long ago: leases and claims have expired, and Temporal has
 * noticed that their activities do not finish (45 s) and that their workflow caches are gone (10 s). Only the wait is
 * shortened.
 */
export async function makeItLongAgo(
  database: { query(text: string, values: unknown[]): Promise<unknown> },
  { workflow, activity, workflowService, options }: Client,
): Promise<void> {
  await expireLeases(database);
  await database.query('update workflow_starts set start_after = now()', []);
  const running: string[] = [];
  for await (const { workflowId } of workflow.list({ query: "ExecutionStatus = 'Running'" })) running.push(workflowId);
  await atOnce(8, running, async (workflowId) => {
    try {
      const { raw } = await workflow.getHandle(workflowId).describe();
      await workflowService.resetStickyTaskQueue({ namespace: options.namespace, execution: { workflowId } });
      for (const { activityId } of raw.pendingActivities ?? []) {
        await activity.fail({ workflowId, activityId: activityId ?? '' }, new Error('its worker died'));
      }
    } catch {
      // The workflow has ended, or its activity is between two tries: no timeout is pending.
    }
  });
}
