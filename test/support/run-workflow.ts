import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkflowFailedError } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { newId } from '../../src/ids.js';
import type { DeliverOutcome, DeliverRequest } from '../../workflows/deliver-event.activities.js';
import type { DeliverEventInput, DeliveryProgress } from '../../workflows/deliver-event.input.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The ladder of the spec, ms. */
export const LADDER = [0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR];
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** A delivery as the workflow `deliverEvent` gets it. */
export function delivery(
  fields: Partial<DeliverEventInput['deliveries'][number]> = {},
): DeliverEventInput['deliveries'][number] {
  return {
    deliveryId: newId(),
    webhookId: newId(),
    host: 'hooks.example.com',
    status: 'pending',
    reason: null,
    attemptCount: 0,
    lastOutcome: null,
    nextAttemptAt: null,
    ladderStart: 0,
    owner: null,
    ...fields,
  };
}

export const succeeded = ({ number }: DeliverRequest): DeliverOutcome => ({
  status: 'succeeded',
  reason: null,
  attemptCount: number,
  lastOutcome: '204',
  wait: null,
});
export const refused = ({ number, nextDelay }: DeliverRequest): DeliverOutcome => ({
  status: nextDelay === null ? 'failed' : 'pending',
  reason: nextDelay === null ? 'exhausted' : null,
  attemptCount: number,
  lastOutcome: '503',
  wait: nextDelay,
});

/** A worker of the built workflows with these activities, on a task queue of its own. */
export async function workflowWorker(
  env: Pick<TestWorkflowEnvironment, 'nativeConnection'>,
  activities: object,
  namespace = 'default',
) {
  if (!existsSync(codePath)) throw new Error(`${codePath} is missing: run npm run build`);
  const taskQueue = newId();
  const connection = env.nativeConnection;
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowBundle: { codePath }, activities });
  return { worker, taskQueue };
}

/** Runs `deliverEvent` with an activity whose outcomes `outcomeOf` gives, and keeps the activity's requests. */
export async function runDeliverEvent(
  env: TestWorkflowEnvironment,
  deliveries: DeliverEventInput['deliveries'],
  outcomeOf: (request: DeliverRequest) => DeliverOutcome,
  during: (workflowId: string) => Promise<void> = async () => undefined,
) {
  const requests: DeliverRequest[] = [];
  const activities = {
    async deliver(request: DeliverRequest) {
      requests.push(request);
      return outcomeOf(request);
    },
  };
  const { worker, taskQueue } = await workflowWorker(env, activities);
  const eventId = newId();
  const input: DeliverEventInput = {
    eventId,
    clientId: newId(),
    title: 'transfer.status_changed SENT',
    deliveries,
    ladder: LADDER,
  };
  const outcome = await worker.runUntil(async () => {
    const handle = await env.client.workflow.start('deliverEvent', { taskQueue, workflowId: eventId, args: [input] });
    await during(eventId);
    return handle.result().then(
      (result: DeliveryProgress[]) => ({ result, failure: undefined }),
      (error: WorkflowFailedError) => ({ result: undefined, failure: error.cause?.message }),
    );
  });
  return { ...outcome, requests, eventId };
}

/** The milliseconds from the end of each attempt to the scheduling of the next attempt, on the server's clock. */
export async function spacings(env: TestWorkflowEnvironment, workflowId: string): Promise<number[]> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  const time = (event: NonNullable<typeof events>[number]) =>
    Number(event.eventTime?.seconds) * 1_000 + Math.round((event.eventTime?.nanos ?? 0) / 1e6);
  const scheduled = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).map(time);
  const completed = (events ?? []).filter((event) => event.activityTaskCompletedEventAttributes).map(time);
  return scheduled.slice(1).map((at, i) => at - (completed[i] ?? 0));
}
