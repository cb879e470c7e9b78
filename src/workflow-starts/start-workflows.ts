import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { WorkflowMode } from '../config.js';
import { failpoint } from '../failpoints.js';
import type { WorkflowStart } from './read-starts.js';
import { startDeliverEvent } from './start-deliver-event.js';

/** Starts under way at once, in the starter and in reconcile. */
export const CONCURRENCY = 16;
/** An attempt planned within this time counts as due, ms. */
const SOON = 1_000;

/** The number of attempts that the workflow makes at once, before it sleeps. */
export function attemptsDue({ input }: WorkflowStart): number {
  return input.deliveries.filter(
    ({ status, nextAttemptAt }) =>
      status === 'pending' && (nextAttemptAt === null || Date.parse(nextAttemptAt) <= Date.now() + SOON),
  ).length;
}

/**
 * Whether the workflow only shows an event with nothing left to do. The workflow of an exhausted delivery fails, which
 * operators look for, so that it does not trail.
 */
export function mayTrail({ input }: WorkflowStart): boolean {
  return input.deliveries.every(({ status }) => status === 'succeeded' || status === 'cancelled');
}

/**
 * Starts the workflows, `CONCURRENCY` at once.
 * @returns ids of events: `done` have a workflow now or need none, `begun` had theirs started by this call, `failed`
 * have none; `fault` is the last error
 */
export async function startWorkflows(
  { client, eager }: { client: Client; eager: boolean },
  starts: readonly WorkflowStart[],
  workflows: WorkflowMode,
): Promise<{ done: string[]; begun: Set<string>; failed: string[]; fault: unknown }> {
  const limit = pLimit(CONCURRENCY);
  const done: string[] = [];
  const begun = new Set<string>();
  const failed: string[] = [];
  let fault: unknown;
  const startOne = async (start: WorkflowStart) => {
    const { eventId, deliveries } = start.input;
    try {
      const needed = workflows === 'every-event' || deliveries.some(({ status }) => status === 'pending');
      if (needed) {
        failpoint('before-start');
        if (await startDeliverEvent(client, start, { eager, reuse: 'start-once' })) begun.add(eventId);
        failpoint('after-start');
      }
      done.push(eventId);
    } catch (error) {
      fault = error;
      failed.push(eventId);
    }
  };
  await Promise.all(starts.map((start) => limit(startOne, start)));
  return { done, begun, failed, fault };
}
