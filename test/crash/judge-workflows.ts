import type { Client } from '@temporalio/client';
import type { Record } from './record.js';

/** What an event or an attempt is carried by. */
const OURS = new Set(['deliverEvent', 'retryDelivery', 'recoverEndpoint']);

export function runningWorkflows(temporal: Client): Promise<number> {
  const types = [...OURS].map((type) => `'${type}'`).join();
  const query = `ExecutionStatus = 'Running' and WorkflowType in (${types})`;
  return temporal.workflow.count(query).then(({ count }) => count);
}

/**
 * Once it is quiet: no workflow runs, each event has its one, and those that failed did so for an exhausted ladder.
 * @param rungs how many attempts a ladder has
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
    // A workflow of a recovered delivery is named after that delivery.
    const wellFailed = status.name === 'FAILED' && (exhausted.has(workflowId) || workflowId.startsWith('recover-'));
    if (status.name !== 'COMPLETED' && !wellFailed) faults.push(`a ${type} that is ${status.name}: ${workflowId}`);
  }
  for (const { id } of record.events) {
    const executions = known.get(id) ?? [];
    if (executions.length !== 1) faults.push(`an event with ${executions.length} workflows: ${id} (${executions})`);
  }
  return faults;
}

/** What the recovery of an endpoint is at: its state, and the last of its history. */
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
