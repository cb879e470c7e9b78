import './quiet-temporal.js';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { newId } from '../../src/platform/ids.js';
import {
  ATTEMPT_FAILED,
  type DeliverEventInput,
  type DeliverRequest,
  type DeliveryProgress,
} from '../../workflows/deliver-event.input.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The default ladder, ms. */
export const LADDER = [0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR];
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** A delivery as the workflow `deliverEvent` gets it. */
export function delivery(fields: Partial<DeliveryProgress> = {}): DeliveryProgress {
  return {
    deliveryId: newId(),
    webhookId: newId(),
    host: 'hooks.example.com',
    description: null,
    status: 'pending',
    reason: null,
    attemptCount: 0,
    lastOutcome: null,
    nextAttemptAt: null,
    wait: null,
    ...fields,
  };
}

/** What a delivery's row has after `deliver`. */
export type Outcome = Pick<DeliveryProgress, 'status' | 'reason' | 'attemptCount' | 'lastOutcome' | 'wait'>;

export const succeeded = ({ attemptCount }: DeliverRequest): Outcome => ({
  status: 'succeeded',
  reason: null,
  attemptCount: attemptCount + 1,
  lastOutcome: '204',
  wait: null,
});
/** The receiver responds 503, at a delivery with the default ladder and no manual retry. */
export const refused = ({ attemptCount }: DeliverRequest): Outcome => {
  const wait = LADDER[attemptCount] ?? null;
  const state = wait === null ? ({ status: 'failed', reason: 'exhausted' } as const) : PENDING;
  return { ...state, attemptCount: attemptCount + 1, lastOutcome: '503', wait };
};
const PENDING = { status: 'pending', reason: null } as const;

/** A worker of the built workflows with these activities, on its own task queue. */
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

/** What happens to the deliveries of an event. */
interface Course {
  outcomeOf(request: DeliverRequest): Outcome | Promise<Outcome>;
  /** The rows of the deliveries, which the workflow reads when it is woken. */
  rows(): Promise<DeliveryProgress[]>;
  requests: DeliverRequest[];
}

/** Starts a worker that runs `deliverEvent` for all tests of a file. */
export async function startDeliverEvents(env: TestWorkflowEnvironment) {
  const courses = new Map<string, Course>();
  const courseOf = (eventId: string) => courses.get(eventId) as Course;
  const { worker, taskQueue } = await workflowWorker(env, {
    async deliver(request: DeliverRequest): Promise<DeliveryProgress> {
      const { outcomeOf, requests } = courseOf(request.eventId);
      requests.push(request);
      const outcome = await outcomeOf(request);
      const { deliveryId, webhookId, host, description, attemptCount } = request;
      const at = outcome.wait === null ? null : new Date((await env.currentTimeMs()) + outcome.wait).toISOString();
      const progress = { deliveryId, webhookId, host, description, nextAttemptAt: at, ...outcome };
      if (outcome.lastOutcome?.startsWith('2') || outcome.attemptCount <= attemptCount) return progress;
      const message = `attempt ${outcome.attemptCount} to ${host}: ${outcome.lastOutcome}`;
      throw ApplicationFailure.create({ type: ATTEMPT_FAILED, nonRetryable: true, message, details: [progress] });
    },
    readDeliveries: (eventId: string) => courseOf(eventId).rows(),
  });
  const running = worker.run();
  return {
    /**
     * Runs `deliverEvent` with an activity whose outcomes `outcomeOf` gives, and keeps the activity's requests. A
     * failed attempt fails the activity, as that of the service does.
     */
    async run(
      deliveries: DeliveryProgress[],
      outcomeOf: Course['outcomeOf'],
      {
        during = async () => undefined,
        rows = async () => [],
      }: { during?: (workflowId: string) => Promise<void>; rows?: Course['rows'] } = {},
    ) {
      const requests: DeliverRequest[] = [];
      const eventId = newId();
      courses.set(eventId, { outcomeOf, rows, requests });
      const input: DeliverEventInput = {
        ...{ eventId, clientId: newId(), title: 'transfer.status_changed SENT' },
        deliveries,
      };
      const handle = await env.client.workflow.start('deliverEvent', { taskQueue, workflowId: eventId, args: [input] });
      await during(eventId);
      const outcome = await handle.result().then(
        (result: DeliveryProgress[]) => ({ result, failure: undefined }),
        (error: WorkflowFailedError) => ({ result: undefined, failure: error.cause?.message }),
      );
      return { ...outcome, requests, eventId };
    },
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
    },
  };
}

/** The milliseconds from the end of each attempt to the scheduling of the next attempt, on the server's clock. */
export async function spacings(env: TestWorkflowEnvironment, workflowId: string): Promise<number[]> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  const time = (event: NonNullable<typeof events>[number]) =>
    Number(event.eventTime?.seconds) * 1_000 + Math.round((event.eventTime?.nanos ?? 0) / 1e6);
  const scheduled = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).map(time);
  const completed = (events ?? [])
    .filter((event) => event.activityTaskCompletedEventAttributes ?? event.activityTaskFailedEventAttributes)
    .map(time);
  return scheduled.slice(1).map((at, i) => at - (completed[i] ?? 0));
}
