import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NativeConnection, Worker } from '@temporalio/worker';
import '../support/quiet-temporal.js';
import { ApplicationFailure } from '@temporalio/common';
import { newId } from '../../src/platform/ids.js';
import {
  ATTEMPT_FAILED,
  type DeliverEventInput,
  type DeliverRequest,
  type DeliveryProgress,
  TASK_QUEUE,
} from '../../workflows/deliver-event.input.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';
import { ATTEMPT, otherBuild, replay, thisBuild } from '../support/workflow-builds.js';

// Tests the runbook for rolling a version out and back (docs/workflow-changes.md) on a real server.

const HOUR = 3_600_000;
const nextBuild = otherBuild(ATTEMPT, `if ($sdk.patched('breathe')) await $sdk.sleep(1);${ATTEMPT}`);

let temporal: TestTemporal;
let connection: NativeConnection;
beforeAll(async () => {
  temporal = await createTestNamespace();
  connection = await NativeConnection.connect({ address: temporal.address });
}, 120_000);
afterAll(async () => {
  await connection?.close();
  await temporal?.close();
});

/** The delivery's id of each attempt that was made. */
const made: string[] = [];
let down = true;
/** Deliveries whose planned time has come. */
const due = new Set<string>();
const progressOf = ({ deliveryId, webhookId }: Pick<DeliverRequest, 'deliveryId' | 'webhookId'>) => {
  const attemptCount = attempts(deliveryId);
  const ids = { deliveryId, webhookId, host: 'hooks.example.com', description: null, reason: null, attemptCount };
  if (!down) return { ...ids, status: 'succeeded', lastOutcome: '204', nextAttemptAt: null, wait: null } as const;
  const wait = due.has(deliveryId) || attemptCount < 2 ? 0 : HOUR;
  const nextAttemptAt = new Date(Date.now() + wait).toISOString();
  return { ...ids, status: 'pending', lastOutcome: attemptCount > 0 ? '503' : null, nextAttemptAt, wait } as const;
};
const activities = {
  async deliver(request: DeliverRequest): Promise<DeliveryProgress> {
    made.push(request.deliveryId);
    due.delete(request.deliveryId);
    const progress = progressOf(request);
    if (!down) return progress;
    throw ApplicationFailure.create({ type: ATTEMPT_FAILED, nonRetryable: true, details: [progress] });
  },
  /** All ids of an event are the same. */
  readDeliveries: async (id: string): Promise<DeliveryProgress[]> => [
    { ...progressOf({ deliveryId: id, webhookId: id }), ...(down ? {} : PENDING) },
  ],
};
/** A sleeping delivery that is due. */
const PENDING = { status: 'pending', lastOutcome: '503', nextAttemptAt: new Date().toISOString(), wait: 0 } as const;

/** Runs `during` while a worker of the given build serves the task queue. */
async function onBuild(code: string, during: () => Promise<void>): Promise<void> {
  const { namespace } = temporal;
  const options = { connection, namespace, taskQueue: TASK_QUEUE, workflowBundle: { code }, activities };
  await (await Worker.create(options)).runUntil(during);
}

/** Starts an event whose delivery has failed twice and sleeps for an hour. All its ids are the same. */
async function fallAsleep(): Promise<string> {
  const id = newId();
  const delivery = progressOf({ deliveryId: id, webhookId: id });
  const input: DeliverEventInput = {
    ...{ eventId: id, clientId: id, title: 'transfer.status_changed SENT', deliveries: [delivery] },
  };
  await temporal.client.workflow.start('deliverEvent', { workflowId: id, taskQueue: TASK_QUEUE, args: [input] });
  await untilAsleep(id);
  return id;
}

const historyOf = async (id: string) => (await temporal.client.workflow.getHandle(id).fetchHistory()).events ?? [];
const untilAsleep = (id: string) =>
  waitFor('a sleeping delivery', async () => {
    const timer = (await historyOf(id)).at(-1)?.timerStartedEventAttributes;
    return Number(timer?.startToFireTimeout?.seconds) === HOUR / 1_000;
  });
/** Makes the planned time come, and wakes the workflow. */
const retry = (id: string) => {
  due.add(id);
  return temporal.client.workflow.getHandle(id).signal('wake');
};
const attempts = (id: string) => made.filter((one) => one === id).length;
const status = async (id: string) => (await temporal.client.workflow.getHandle(id).describe()).status.name;
const takenPatch = async (id: string) => (await historyOf(id)).some((event) => event.markerRecordedEventAttributes);

test('a sleeping ladder continues on a new version and after a rollback; a workflow begun on the new version fails its tasks on the old one', async () => {
  let untouched = '';
  let rolled = '';
  let fresh = '';
  await onBuild(thisBuild, async () => {
    [untouched, rolled] = await Promise.all([fallAsleep(), fallAsleep()]);
  });

  await onBuild(nextBuild, async () => {
    fresh = await fallAsleep();
    expect([await takenPatch(fresh), await takenPatch(rolled)]).toEqual([true, false]);
    await retry(rolled);
    await waitFor('the attempt', () => attempts(rolled) === 3);
  });

  down = false;
  await onBuild(thisBuild, async () => {
    await retry(untouched);
    await retry(fresh);
    await waitFor('its end', async () => (await status(untouched)) === 'COMPLETED');
    const failure = await waitFor('a task that fails', async () =>
      (await historyOf(fresh)).map((event) => event.workflowTaskFailedEventAttributes?.failure).find(Boolean),
    );
    expect(failure.message).toMatch(/nondeterminism/i);
    expect([await status(fresh), attempts(fresh)]).toEqual(['RUNNING', 2]);
  });

  // Temporal retries such a task with growing delays. After rolling forward, the workflow continues.
  const history = await temporal.client.workflow.getHandle(fresh).fetchHistory();
  expect(await replay(nextBuild, [{ name: 'fresh', json: history }])).toEqual([]);
});
