import type { Handle } from '../platform/database/database.js';

/** A workflow that runs until the work of its row has ended. */
export interface WorkflowStart {
  workflowId: string;
  type: 'checkReceiver' | 'sandboxTransfer' | 'notify';
  taskQueue: string;
  /** The fairness key, and the search attribute `ClientId`. */
  clientId: string;
  /** What the workflow is called with, JSON. A second start gets it too. */
  input: object;
  /** What Temporal's UI shows of the workflow. */
  summary: string;
  /** The search attribute `WebhookIds`. */
  endpointId?: string;
  /** The search attribute `TransferId`. */
  transferId?: string;
  /** Longest time between two activities of the workflow, s. After it, the workflow is started again if it was lost. */
  renewedWithin: number;
}

/**
 * Records in the caller's transaction that a workflow is needed, so that no start is lost while Temporal is unavailable
 * or when a process dies. The row lives until the workflow has ended. Its activities move `start_after` ahead, and the
 * last one deletes the row, as does the end of a check that never started. So a terminated workflow and one of a lost
 * Temporal store start again.
 */
export async function enqueueWorkflow(tx: Handle, start: WorkflowStart): Promise<void> {
  const { workflowId, type, taskQueue, clientId, endpointId = null, transferId = null, input, summary } = start;
  const ids = [workflowId, type, taskQueue, clientId, endpointId, transferId];
  await tx.query(ENQUEUE, [...ids, JSON.stringify(input), summary, start.renewedWithin]);
}

/** The columns' defaults are Postgres's clock; those of Prisma would be this process's. */
const ENQUEUE = `
insert into workflow_starts (workflow_id, type, task_queue, client_id, endpoint_id, transfer_id, input, summary, renewed_within)
values ($1, $2, $3, $4::uuid, $5::uuid, $6::uuid, $7::jsonb, $8, $9::int)`;

/** SQL, the assignments of an update: an activity of the workflow runs. */
export const KEPT = `started_at = coalesce(started_at, now()), start_after = now() + renewed_within * interval '1 second'`;

/** Called by the activities of a workflow: while it runs, it is not started again. */
export async function keepStarted(db: Handle, workflowId: string): Promise<void> {
  await db.query(`update workflow_starts set ${KEPT} where workflow_id = $1`, [workflowId]);
}
