import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import { isRefusedInput } from '../temporal/faults.js';
import type { WorkflowStart } from './read-starts.js';
import { type StartOptions, startDeliverEvent } from './start-deliver-event.js';
import { CONCURRENCY } from './start-workflows.js';

/** Time limit of one start, ms, so that a hanging Temporal does not hold up a pass. */
const START_DEADLINE = 10_000;

export interface StartedPending {
  /** Ids of the workflows that were started. */
  started: string[];
  /** Workflows that were already running. */
  running: number;
  /** Ids of the workflows whose input Temporal refused. */
  refused: string[];
}

/**
 * Starts the workflows of pending deliveries, `CONCURRENCY` at once. Temporal refuses the start of a workflow that is
 * running, so no check is needed.
 * @param reuse `replace` terminates a running workflow and starts it anew
 * @throws the first fault other than a refused input; it ends the pass
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
      const startedNow = await client.connection.withDeadline(Date.now() + START_DEADLINE, () =>
        startDeliverEvent(client, start, { eager: false, reuse }),
      );
      if (startedNow) result.started.push(start.workflowId);
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
