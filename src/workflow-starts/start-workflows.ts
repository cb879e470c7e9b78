import type { Client } from '@temporalio/client';
import type { LimitFunction } from 'p-limit';
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

/** Events by what became of their starts. */
export interface Started {
  /** They have a workflow now, or need none. */
  done: string[];
  /** Their workflow was started by this call. */
  begun: Set<string>;
  /** They have no workflow. */
  failed: string[];
  /** The last error. */
  fault: unknown;
}

/**
 * Starts the workflows, as many at once as `limit` allows.
 * @returns `lastBegun` resolves when the last of the starts is under way, `ended` when all have ended
 */
export function startWorkflows(
  { client, eager }: { client: Client; eager: boolean },
  starts: readonly WorkflowStart[],
  { workflows, limit }: { workflows: WorkflowMode; limit: LimitFunction },
): { lastBegun: Promise<void>; ended: Promise<Started> } {
  const started: Started = { done: [], begun: new Set(), failed: [], fault: undefined };
  const lastBegun = Promise.withResolvers<void>();
  const startOne = async (start: WorkflowStart, index: number) => {
    if (index === starts.length - 1) lastBegun.resolve();
    const { eventId, deliveries } = start.input;
    try {
      const needed = workflows === 'every-event' || deliveries.some(({ status }) => status === 'pending');
      if (needed) {
        failpoint('before-start');
        if (await startDeliverEvent(client, start, { eager, reuse: 'start-once' })) started.begun.add(eventId);
        failpoint('after-start');
      }
      started.done.push(eventId);
    } catch (error) {
      started.fault = error;
      started.failed.push(eventId);
    }
  };
  if (starts.length === 0) lastBegun.resolve();
  const ended = Promise.all(starts.map((start, index) => limit(startOne, start, index))).then(() => started);
  return { lastBegun: lastBegun.promise, ended };
}
