import type { Client } from '@temporalio/client';
import type { Record } from './record.js';

/** The workflows of the service that carry events and attempts. */
const OURS = new Set(['deliverEvent', 'retryDelivery', 'recoverEndpoint']);

export function runningWorkflows(temporal: Client): Promise<number> {
  const types = [...OURS].map((type) => `'${type}'`).join();
  const query = `ExecutionStatus = 'Running' and WorkflowType in (${types})`;
  return temporal.workflow.count(query).then(({ count }) => count);
}

/**
 * Checks, once the service is quiet, that no workflow runs, that each event has one workflow, and that a workflow
 * failed only for an exhausted ladder.
 * @param rungs number of attempts on a ladder
 */
export async function judgeWorkflows(temporal: Client, record: Record, rungs: number): Promise<string[]> {
  const faults: string[] = [];
  const exhausted = new Set(
    record.deliveries
      .filter(({ status, attemptCount }) => status === 'failed' || attemptCount >= rungs)
      .map(({ event }) => event),
  );
  const known = new Map<string, string[]>();
  for await (const { workflowId, type, status, startTime, closeTime } of temporal.workflow.list({ pageSize: 1_000 })) {
    if (!OURS.has(type)) continue;
    const execution = `${status.name} ${startTime.toISOString()}/${closeTime?.toISOString() ?? ''}`;
    known.set(workflowId, [...(known.get(workflowId) ?? []), execution]);
    // The id of a recovered delivery's workflow contains the delivery's id.
    const wellFailed = status.name === 'FAILED' && (exhausted.has(workflowId) || workflowId.startsWith('recover-'));
    if (status.name !== 'COMPLETED' && !wellFailed) faults.push(`a ${type} that is ${status.name}: ${workflowId}`);
  }
  for (const { id } of record.events) {
    const executions = known.get(id) ?? [];
    if (executions.length !== 1) faults.push(`an event with ${executions.length} workflows: ${id} (${executions})`);
  }
  return faults;
}

/** Describes the recovery of an endpoint: its state and the end of its history. */
export async function describeRecovery(temporal: Client, webhookId: string): Promise<string> {
  const handle = temporal.workflow.getHandle(`recover-${webhookId}`);
  const { status, raw } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const last = events
    ?.slice(-6)
    .map((event) => JSON.stringify(event, (_, value) => (value === null ? undefined : value)));
  const { pendingActivities, pendingWorkflowTask } = raw;
  return [status.name, JSON.stringify({ pendingActivities, pendingWorkflowTask }), ...(last ?? [])].join('\n    ');
}
