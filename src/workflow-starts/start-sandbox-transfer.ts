import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import type { SandboxTransferInput } from '../../workflows/sandbox-transfer.js';
import { ClientId, TransferId } from '../../workflows/search-attributes.js';
import { sandboxSteps } from '../transfers/sandbox-accounts.js';
import type { DueSandboxTransfer } from './sandbox-outbox.js';

/**
 * Starts the workflow of a transfer that moves by itself, once. A workflow that was lost or terminated is started again
 * from the recorded steps; one that runs is left alone.
 */
export async function startSandboxTransfer(
  client: Client,
  { transferId, clientId, account, stepsMade, createdAt, restart }: DueSandboxTransfer,
  stepDelay: number,
): Promise<void> {
  const statuses = (sandboxSteps(account) ?? []).map(({ status }) => status);
  const input: SandboxTransferInput = {
    transferId,
    clientId,
    statuses,
    made: stepsMade,
    stepDelay,
    createdAt: Number(createdAt),
  };
  try {
    await client.workflow.start('sandboxTransfer', {
      workflowId: `sandbox-${transferId}`,
      taskQueue: SANDBOX_TASK_QUEUE,
      workflowIdReusePolicy: restart ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      args: [input],
      priority: { fairnessKey: clientId },
      staticSummary: `${account}: ${statuses.join(' → ')}`,
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: TransferId, value: transferId },
      ],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
