import type { Client } from '@temporalio/client';
import type { Record } from './record.js';

/** The workflows that must end. Those of notifications fail if nobody receives them. */
const OURS = new Set(['deliverEvent', 'sandboxTransfer', 'notify']);

export function runningWorkflows(temporal: Client): Promise<number> {
  const types = [...OURS].map((type) => `'${type}'`).join();
  const query = `ExecutionStatus = 'Running' and WorkflowType in (${types})`;
  return temporal.workflow.count(query).then(({ count }) => count);
}

/**
 * Checks, once the service is quiet, that no workflow runs, that each event has its workflow, and that a workflow
 * failed only for an exhausted ladder or a 410. After a manual retry or a recovery the workflow has several runs.
 * @param rungs number of attempts on a ladder
 */
export async function judgeWorkflows(temporal: Client, record: Record, rungs: number): Promise<string[]> {
  const faults: string[] = [];
  const gone = new Set(
    record.attempts.filter(({ responseStatus }) => responseStatus === 410).map(({ delivery }) => delivery),
  );
  const exhausted = new Set(
    record.deliveries
      .filter(({ id, status, attemptCount }) => status === 'failed' || attemptCount >= rungs || gone.has(id))
      .map(({ event }) => event),
  );
  const known = new Set<string>();
  for await (const { workflowId, type, status } of temporal.workflow.list({ pageSize: 1_000 })) {
    if (!OURS.has(type)) continue;
    known.add(workflowId);
    const wellFailed = status.name === 'FAILED' && exhausted.has(workflowId);
    if (status.name !== 'COMPLETED' && !wellFailed) faults.push(`a ${type} that is ${status.name}: ${workflowId}`);
  }
  for (const { id } of record.events) {
    if (!known.has(id)) faults.push(`an event without a workflow: ${id}`);
  }
  return faults;
}
