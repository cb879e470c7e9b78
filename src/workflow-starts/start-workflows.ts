import { type Client, isGrpcServiceError, ServiceError } from '@temporalio/client';
import pLimit from 'p-limit';
import type { WorkflowMode } from '../config.js';
import { failpoint } from '../failpoints.js';
import type { WorkflowStart } from './read-starts.js';
import { startDeliverEvent } from './start-deliver-event.js';

/** Starts under way at once, of fresh workflows and of those that reconcile starts again. */
export const CONCURRENCY = 16;
/** Planned sooner than this counts as now, ms. */
const SOON = 1_000;

/** The attempts that its workflow makes at once, and not after a sleep. */
export function attemptsDue({ input }: WorkflowStart): number {
  return input.deliveries.filter(
    ({ status, nextAttemptAt }) =>
      status === 'pending' && (nextAttemptAt === null || Date.parse(nextAttemptAt) <= Date.now() + SOON),
  ).length;
}

/** gRPC's INVALID_ARGUMENT. */
const INVALID_ARGUMENT = 3;

/** Whether Temporal refused what one event asked for, and serves others. */
export function isRefusedInput(fault: unknown): boolean {
  const cause = fault instanceof ServiceError ? fault.cause : fault;
  return isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT;
}

/**
 * Starts the workflows, some at once. Answers the ids of the events that have one now, or need none, and of those that have
 * not; `begun`: whose workflow began here, and not elsewhere before.
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
  const one = async (start: WorkflowStart) => {
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
  await Promise.all(starts.map((start) => limit(one, start)));
  return { done, begun, failed, fault };
}
