import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { WorkflowStart } from './read-starts.js';
import { type StartOptions, startDeliverEvent } from './start-deliver-event.js';
import { CONCURRENCY, isRefusedInput } from './start-workflows.js';

/** A Temporal that hangs does not hold up a pass for longer, ms. */
const START_DEADLINE = 10_000;

export interface StartedPending {
  /** Ids of the workflows that began. */
  started: string[];
  /** Workflows that ran already. */
  running: number;
  /** Ids of the workflows whose input Temporal refused. */
  refused: string[];
}

/**
 * Starts the workflows of pending deliveries, some at once. Temporal itself refuses the start of one that runs, so that
 * nobody need ask first whether it does.
 * @param reuse `replace` terminates one that runs, and starts it anew
 */
export async function startPending(
  client: Client,
  starts: readonly WorkflowStart[],
  reuse: Extract<StartOptions['reuse'], 'restart' | 'replace'>,
): Promise<StartedPending> {
  const limit = pLimit(CONCURRENCY);
  const result: StartedPending = { started: [], running: 0, refused: [] };
  let fault: unknown;
  const startOne = async (start: WorkflowStart) => {
    if (fault !== undefined) return;
    try {
      const began = await client.connection.withDeadline(Date.now() + START_DEADLINE, () =>
        startDeliverEvent(client, start, { eager: false, reuse }),
      );
      if (began) result.started.push(start.workflowId);
      else result.running++;
    } catch (error) {
      if (isRefusedInput(error)) result.refused.push(start.workflowId);
      else fault = error;
    }
  };
  await Promise.all(starts.map((start) => limit(startOne, start)));
  if (fault !== undefined) throw fault;
  return result;
}
