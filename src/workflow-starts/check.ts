import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { ClientId, WebhookIds } from '../../workflows/search-attributes.js';
import { recordingFailure } from '../audit/record.js';
import { CHECK_CASE_NAMES } from '../check-cases.js';
import type { Database } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { newId } from '../ids.js';
import { admitCheck, endStartingCheck, entryOf, type PlannedCheck } from '../receiver-checks/admit-check.js';
import { finishCheck, forgetCheck } from '../receiver-checks/finish-check.js';
import { type AskTemporal, boundedAsking } from '../temporal/ask-temporal.js';
import type { TwoStepAction } from '../webhooks/delivery-actions.js';
import { hostOf } from '../webhooks/endpoint-url.js';

/**
 * Starts a check of an endpoint's receiver.
 * @throws Refusal not_found | endpoint_not_active; check_in_progress | check_limit_reached | unavailable | rate_limited
 */
export type CheckAction = TwoStepAction<Omit<PlannedCheck, 'checkId'>, PlannedCheck, void>;

/**
 * The check of an endpoint's receiver. A row in Postgres admits it, and a workflow carries it out. Both have the
 * check's id, so that a repeat after a crash starts the same check and never a second one.
 * @param temporal undefined while Temporal is away
 */
export function createCheckAction(temporal: () => Client | undefined, grace?: number): CheckAction {
  const ask = boundedAsking(temporal, grace);
  return {
    // The plan only identifies the check: `admitCheck` checks the endpoint and the limits under one lock.
    async plan(_tx, request, earlier) {
      return earlier ?? { checkId: newId(), ...request };
    },
    async carryOut(db, plan) {
      const { url, ended } = await admit(db, ask, plan);
      if (ended) return;
      failpoint('after-admitted');
      const accepted = ask(plan.clientId, (client) => start(client, plan, url)).finally(() =>
        endStartingCheck(db, plan.checkId).catch(() => undefined),
      );
      await recordingFailure(db, entryOf(plan), accepted);
      failpoint('after-asked');
    },
  };
}

/**
 * Looks in Temporal for each open check that Postgres finds: a terminated workflow, or one never started, blocks
 * nothing.
 */
async function admit(db: Database, ask: AskTemporal, plan: PlannedCheck) {
  const running = new Set<string>();
  for (;;) {
    const admission = await db.transaction((tx) => admitCheck(tx, plan, running));
    if (!('blockedBy' in admission)) return admission;
    for (const checkId of admission.blockedBy) {
      const state = await ask(plan.clientId, (client) => stateOf(client, checkId));
      if (state === 'running') running.add(checkId);
      else if (state === 'ended') await finishCheck(db, checkId, 'stopped');
      else await forgetCheck(db, checkId);
    }
  }
}

const workflowIdOf = (checkId: string) => `check-${checkId}`;

async function stateOf(client: Client, checkId: string): Promise<'running' | 'ended' | 'never started'> {
  try {
    const { status } = await client.workflow.getHandle(workflowIdOf(checkId)).describe();
    return status.name === 'RUNNING' ? 'running' : 'ended';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'never started';
    throw error;
  }
}

async function start(client: Client, { checkId, clientId, endpointId }: PlannedCheck, url: string): Promise<void> {
  const host = hostOf(url);
  try {
    await client.workflow.start('checkReceiver', {
      workflowId: workflowIdOf(checkId),
      taskQueue: SANDBOX_TASK_QUEUE,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [{ checkId, clientId, webhookId: endpointId, host, cases: CHECK_CASE_NAMES }],
      priority: { fairnessKey: clientId },
      staticSummary: `check of the receiver → ${host}`,
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: WebhookIds, value: [endpointId] },
      ],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
