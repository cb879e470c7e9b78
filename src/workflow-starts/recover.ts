import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, WebhookIds } from '../../workflows/search-attributes.js';
import { recordingFailure } from '../audit/record.js';
import type { Database, Handle } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import type { AskTemporal } from '../temporal/ask-temporal.js';
import type { DeliveryActions } from '../webhooks/delivery-actions.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import type { RecoverSize } from '../webhooks/recover.js';
import {
  admitRecover,
  type Blocked,
  checkRecover,
  endRecover,
  endStarting,
  entryOf,
  forgetRecover,
  measureRecover,
  type OpenRecover,
  type PlannedRecover,
  type Unblocked,
} from '../webhooks/recovers.js';

/**
 * The recover of an endpoint. A row in Postgres admits it, and a workflow carries it out. Both have the recover's id,
 * so that a repeat after a crash starts the same recover and never a second one.
 */
export function recoverAction(ask: AskTemporal): DeliveryActions['recover'] {
  return {
    // The plan only identifies the recover: `carryOut` checks the endpoint and the limits.
    async plan(_tx, { by, clientId, endpointId, since, until, includeMissing = false }, earlier) {
      return earlier ?? { recoverId: newId(), by, clientId, endpointId, since, until, includeMissing };
    },
    async carryOut(db, plan) {
      const { url, earlier, size: admitted } = await admit(db, ask, plan);
      const { count, missing } = admitted;
      const size = { count, missing };
      if (count + missing === 0 || earlier?.ended) return size;
      failpoint('after-admitted');
      await recordingFailure(db, entryOf(plan, size), begin(db, ask, plan, url, size, earlier !== undefined));
      return size;
    },
  };
}

/** Starts the workflow of an admitted recover. @throws Refusal recover_in_progress | unavailable | rate_limited */
async function begin(
  db: Database,
  ask: AskTemporal,
  plan: PlannedRecover,
  url: string,
  size: RecoverSize,
  isRepeat: boolean,
): Promise<void> {
  const isUnderWay = await ask(
    plan.clientId,
    async (temporal) =>
      (isRepeat && (await startedAs(temporal, plan.endpointId)) === plan.recoverId) ||
      (await start(temporal, plan, url, size)),
  ).finally(() => endStarting(db, plan.recoverId).catch(() => undefined));
  failpoint('after-asked');
  if (isUnderWay) return;
  await forgetRecover(db, plan.recoverId);
  throw new Refusal('recover_in_progress', 'A recover of this endpoint is running; wait until it ends.');
}

/** Checks the limits before the count, which is expensive. No transaction waits for another request's count. */
async function admit(db: Database, ask: AskTemporal, plan: PlannedRecover): Promise<Unblocked & { size: RecoverSize }> {
  const running = new Set<string>();
  const checked = await unblocked(ask, db, running, plan, () => checkRecover(db, plan, running));
  if (checked.earlier) return { ...checked, size: checked.earlier };
  const size = await measureRecover(db, plan);
  if (size.count + size.missing === 0) return { ...checked, size };
  const admitted = await unblocked(ask, db, running, plan, () =>
    db.transaction((tx) => admitRecover(tx, plan, size, running)),
  );
  return { ...admitted, size: admitted.earlier ?? size };
}

/**
 * Checks in Temporal each open recover that Postgres finds: a terminated workflow, or one never started, blocks
 * nothing.
 * @param running gets the recovers that Temporal reports as running
 */
async function unblocked(
  ask: AskTemporal,
  db: Handle,
  running: Set<string>,
  { clientId }: PlannedRecover,
  check: () => Promise<Unblocked | Blocked>,
): Promise<Unblocked> {
  for (;;) {
    const checked = await check();
    if (!('blockedBy' in checked)) return checked;
    for (const open of checked.blockedBy) {
      const state = open.starting ? 'running' : await ask(clientId, (temporal) => stateOf(temporal, open));
      if (state === 'running') running.add(open.id);
      else await settle(db, open.id, state);
    }
  }
}

function settle(db: Handle, recoverId: string, state: 'ended' | 'never started'): Promise<void> {
  return state === 'ended' ? endRecover(db, recoverId) : forgetRecover(db, recoverId);
}

const workflowIdOf = (endpointId: string) => `recover-${endpointId}`;

async function stateOf(temporal: Client, { id, endpointId }: OpenRecover) {
  try {
    const { memo, status } = await temporal.workflow.getHandle(workflowIdOf(endpointId)).describe();
    if (memo?.recoverId !== id) return 'never started';
    return status.name === 'RUNNING' ? 'running' : 'ended';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'never started';
    throw error;
  }
}

/** The id of the recover that the endpoint's latest workflow carries out, or has carried out. */
async function startedAs(temporal: Client, endpointId: string): Promise<unknown> {
  try {
    return (await temporal.workflow.getHandle(workflowIdOf(endpointId)).describe()).memo?.recoverId;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** @returns false when another recover of the endpoint runs that has no row in Postgres (made by the release before) */
async function start(temporal: Client, plan: PlannedRecover, url: string, size: RecoverSize): Promise<boolean> {
  const { recoverId, clientId, endpointId, since, until, includeMissing = false } = plan;
  const { count, missing } = size;
  const host = hostOf(url);
  try {
    await temporal.workflow.start('recoverEndpoint', {
      workflowId: workflowIdOf(endpointId),
      taskQueue: TASK_QUEUE,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ recoverId, clientId, webhookId: endpointId, host, since, until, count, includeMissing, missing }],
      memo: { recoverId },
      priority: { fairnessKey: clientId },
      staticSummary: `recover ${count + missing} deliveries → ${host}`,
      typedSearchAttributes: [
        { key: ClientId, value: clientId },
        { key: WebhookIds, value: [endpointId] },
      ],
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return (await startedAs(temporal, endpointId)) === recoverId;
  }
}
