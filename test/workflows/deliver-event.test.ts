import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import {
  delivery,
  LADDER,
  refused,
  spacings,
  startDeliverEvents,
  succeeded,
  workflowWorker,
} from '../support/run-workflow.js';
import { startTimeSkipping } from '../support/time-skipping.js';
import { waitFor } from '../support/wait-for.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let env: TestWorkflowEnvironment;
let deliverEvents: Awaited<ReturnType<typeof startDeliverEvents>>;
beforeAll(async () => {
  env = await startTimeSkipping();
  deliverEvents = await startDeliverEvents(env);
});
afterAll(async () => {
  await deliverEvents?.stop();
  await env?.teardown();
});

const eventsOf = async (workflowId: string) =>
  (await env.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
/** The timers of a workflow, s. */
const timersOf = async (workflowId: string) =>
  (await eventsOf(workflowId)).flatMap(({ timerStartedEventAttributes: timer }) =>
    timer ? [Number(timer.startToFireTimeout?.seconds) + Number(timer.startToFireTimeout?.nanos ?? 0) / 1e9] : [],
  );
const untilEnded = (workflowId: string) =>
  waitFor('the end of the workflow', async () => {
    const { name } = (await env.client.workflow.getHandle(workflowId).describe()).status;
    return name !== 'RUNNING' && name;
  });
const wake = (workflowId: string) => env.client.workflow.getHandle(workflowId).signal('wake');
/** A delivery with two failed attempts that sleeps, by Temporal's clock and by that of Postgres. */
async function asleep(wait = 5 * MINUTE, fields: Partial<DeliveryProgress> = {}): Promise<DeliveryProgress> {
  const nextAttemptAt = new Date((await env.currentTimeMs()) + wait).toISOString();
  return delivery({ attemptCount: 2, lastOutcome: '503', nextAttemptAt, wait, ...fields });
}

describe('deliverEvent', () => {
  it('has seven attempts made over the whole ladder of 32 h 35 min, spaced as by default, and fails with the reason', async () => {
    const { failure, requests, eventId } = await deliverEvents.run([delivery({ wait: 0 })], refused);
    expect(requests.map(({ attemptCount }) => attemptCount)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    const measured = await spacings(env, eventId);
    expect(measured).toHaveLength(LADDER.length);
    measured.forEach((spacing, i) => {
      expect(spacing).toBeGreaterThanOrEqual(LADDER[i]!);
      // The rest is the time of the workflow's tasks, which the test server does not skip.
      expect(spacing).toBeLessThan(LADDER[i]! + 30_000);
    });
    expect(failure).toMatch(/^hooks\.example\.com …[0-9a-f]{8}: exhausted after 7 attempts, the last: 503$/);
    const red = (await eventsOf(eventId)).filter((event) => event.activityTaskFailedEventAttributes);
    expect(red).toHaveLength(7);
  });

  it('sleeps until the planned time, and not for the whole wait when it started late', async () => {
    const start = await asleep(2 * MINUTE, { wait: 5 * MINUTE });
    const { eventId } = await deliverEvents.run([start], succeeded);
    const [timer] = await timersOf(eventId);
    expect(timer).toBeGreaterThan(30);
    expect(timer).toBeLessThanOrEqual(120);
  });

  it("sleeps for the wait by Postgres's clock when that clock is ahead of Temporal's", async () => {
    const nextAttemptAt = new Date((await env.currentTimeMs()) + 9 * HOUR).toISOString();
    const { eventId } = await deliverEvents.run([await asleep(5 * MINUTE, { nextAttemptAt })], succeeded);
    expect(await timersOf(eventId)).toEqual([300]);
  });

  it("asks early, and then sleeps for what is left, when Postgres's clock is behind Temporal's", async () => {
    const nextAttemptAt = new Date((await env.currentTimeMs()) - HOUR).toISOString();
    const start = await asleep(5 * MINUTE, { nextAttemptAt });
    let isDue = false;
    const { eventId, requests } = await deliverEvents.run([start], (request) => {
      if (isDue) return succeeded(request);
      isDue = true;
      return { status: 'pending', reason: null, attemptCount: 2, lastOutcome: '503', wait: 4 * MINUTE };
    });
    expect(requests).toHaveLength(2);
    expect(await timersOf(eventId)).toEqual([240]);
  });

  it('asks again after a fault of the activity, as often as it takes', async () => {
    let faults = 0;
    const { result } = await deliverEvents.run([await asleep()], (request) => {
      if (faults++ < 3) throw new Error('Postgres is unreachable');
      return succeeded(request);
    });
    expect([faults, result]).toMatchObject([4, [{ status: 'succeeded' }]]);
  });

  it('ends as cancelled when an operator cancels it while it sleeps', async () => {
    let status = '';
    await deliverEvents.run([await asleep()], succeeded, {
      async during(workflowId) {
        const handle = env.client.workflow.getHandle(workflowId);
        await waitFor('its timer', async () => (await timersOf(workflowId)).length > 0);
        await handle.cancel();
        status = await untilEnded(workflowId);
      },
    });
    expect(status).toBe('CANCELLED');
  });
});

describe('deliverEvent, woken because a row has changed', () => {
  const untilAsleep = (workflowId: string) => waitFor('its timer', async () => (await timersOf(workflowId)).length > 0);

  it('shows a manual retry that failed while it slept, and keeps its timer', async () => {
    const start = await asleep();
    let shown: unknown;
    const { requests, eventId } = await deliverEvents.run([start], succeeded, {
      rows: async () => [{ ...start, attemptCount: 3, lastOutcome: '500', wait: 4 * MINUTE }],
      async during(workflowId) {
        await untilAsleep(workflowId);
        await wake(workflowId);
        shown = await waitFor('the new progress', async () => {
          const progress: DeliveryProgress[] = await env.client.workflow.getHandle(workflowId).query('progress');
          return progress[0]!.attemptCount === 3 && progress;
        });
      },
    });
    expect(shown).toMatchObject([{ lastOutcome: '500', status: 'pending' }]);
    expect(requests).toMatchObject([{ attemptCount: 3 }]);
    expect(await timersOf(eventId)).toHaveLength(1);
  });

  it('ends without an attempt when a manual retry has succeeded while it slept', async () => {
    const start = await asleep(24 * HOUR);
    const begun = await env.currentTimeMs();
    const { requests, result } = await deliverEvents.run([start], succeeded, {
      rows: async () => [{ ...start, ...succeeded({ attemptCount: 2 } as never), nextAttemptAt: null }],
      async during(workflowId) {
        await untilAsleep(workflowId);
        await wake(workflowId);
        await untilEnded(workflowId);
        expect((await env.currentTimeMs()) - begun).toBeLessThan(HOUR);
      },
    });
    expect([requests, result]).toMatchObject([[], [{ status: 'succeeded', attemptCount: 3 }]]);
  });

  it('follows a new planned time: a recovery begins while it sleeps for another delivery', async () => {
    const [start, failed] = [
      await asleep(24 * HOUR),
      delivery({ status: 'failed', reason: 'exhausted', attemptCount: 7 }),
    ];
    const soon = new Date((await env.currentTimeMs()) + 10 * MINUTE).toISOString();
    const { requests, eventId } = await deliverEvents.run([start, failed], succeeded, {
      rows: async () => [
        { ...start, nextAttemptAt: soon, wait: 10 * MINUTE },
        { ...failed, status: 'pending', reason: null, nextAttemptAt: soon, wait: 0 },
      ],
      async during(workflowId) {
        await untilAsleep(workflowId);
        await wake(workflowId);
      },
    });
    expect(requests.map(({ deliveryId }) => deliveryId)).toEqual([failed.deliveryId, start.deliveryId]);
    expect((await timersOf(eventId)).slice(0, 2)).toEqual([expect.any(Number), 600]);
  });

  it('reads once more before it ends, when the signal comes with its last task', async () => {
    const done = delivery({ status: 'succeeded', attemptCount: 1 });
    const { worker, taskQueue } = await workflowWorker(env, {
      readDeliveries: async () => [{ ...done, attemptCount: 2, lastOutcome: '204' }],
    });
    const handle = await env.client.workflow.signalWithStart('deliverEvent', {
      ...{ taskQueue, workflowId: done.deliveryId, signal: 'wake' },
      args: [{ eventId: done.deliveryId, clientId: done.webhookId, title: 't', deliveries: [done] }],
    });
    const result = await worker.runUntil(handle.result());
    expect(result).toMatchObject([{ attemptCount: 2 }]);
  });

  it('keeps what `deliver` has returned when the rows were read before it', async () => {
    const start = await asleep();
    const reading = Promise.withResolvers<void>();
    const made = Promise.withResolvers<void>();
    const { result, requests } = await deliverEvents.run(
      [start],
      async (request) => {
        await reading.promise;
        setTimeout(() => made.resolve(), 500);
        return succeeded(request);
      },
      {
        async rows() {
          reading.resolve();
          await made.promise;
          return [start];
        },
        async during(workflowId) {
          await env.sleep(5 * MINUTE);
          await wake(workflowId);
        },
      },
    );
    expect([requests.length, result]).toMatchObject([1, [{ status: 'succeeded', attemptCount: 3 }]]);
  });
});
