import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { delivery, LADDER, refused, runDeliverEvent, spacings, succeeded } from '../support/run-workflow.js';
import { startTimeSkipping } from '../support/time-skipping.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await startTimeSkipping();
}, 120_000);
afterAll(() => env?.teardown());

describe('deliverEvent', () => {
  it('makes seven attempts over the whole ladder of 32 h 35 min, spaced as in the spec, and fails with the reason', async () => {
    const { failure, requests, eventId } = await runDeliverEvent(env, [delivery()], refused);
    expect(requests.map(({ number, trigger, nextDelay }) => [number, trigger, nextDelay])).toEqual([
      [1, 'schedule', 0],
      [2, 'schedule', 5 * MINUTE],
      [3, 'schedule', 30 * MINUTE],
      [4, 'schedule', 2 * HOUR],
      [5, 'schedule', 6 * HOUR],
      [6, 'schedule', 24 * HOUR],
      [7, 'schedule', null],
    ]);
    const measured = await spacings(env, eventId);
    expect(measured).toHaveLength(LADDER.length);
    measured.forEach((spacing, i) => {
      expect(spacing).toBeGreaterThanOrEqual(LADDER[i]!);
      // The rest is the time of the workflow's tasks, which the test server does not skip.
      expect(spacing).toBeLessThan(LADDER[i]! + 30_000);
    });
    expect(failure).toBe('hooks.example.com: exhausted after 7 attempts, the last: 503');
  });

  it('makes attempt 2 at once after attempt 1 failed in the express lane', async () => {
    const start = delivery({ attemptCount: 1, lastOutcome: '500', nextAttemptAt: new Date().toISOString() });
    const { result, requests } = await runDeliverEvent(env, [start], succeeded);
    expect(requests.map(({ number }) => number)).toEqual([2]);
    expect(result).toMatchObject([{ status: 'succeeded', attemptCount: 2, lastOutcome: '204' }]);
  });

  it('makes attempt 1 when the express lane has handed it over', async () => {
    const { requests } = await runDeliverEvent(env, [delivery()], succeeded);
    expect(requests).toMatchObject([{ number: 1, owner: null, single: false }]);
  });

  it('completes in its first workflow task when every delivery has succeeded already', async () => {
    const { result, requests, eventId } = await runDeliverEvent(
      env,
      [delivery({ status: 'succeeded', attemptCount: 1 })],
      succeeded,
    );
    expect(requests).toEqual([]);
    expect(result).toHaveLength(1);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    expect(events).toHaveLength(5);
  });

  it('runs the ladders of several endpoints in parallel', async () => {
    const dead = delivery({ host: 'dead.example.com' });
    const good = delivery({ host: 'good.example.com' });
    const { failure, requests } = await runDeliverEvent(env, [dead, good], (request) =>
      request.deliveryId === dead.deliveryId ? refused(request) : succeeded(request),
    );
    expect(requests.filter(({ deliveryId }) => deliveryId === good.deliveryId)).toHaveLength(1);
    expect(requests.filter(({ deliveryId }) => deliveryId === dead.deliveryId)).toHaveLength(7);
    expect(failure).toMatch(/^dead\.example\.com: /);
  });

  it('sleeps until the planned time, and not for a whole rung from its own start', async () => {
    const now = await env.currentTimeMs();
    const start = delivery({ attemptCount: 2, nextAttemptAt: new Date(now + 2 * MINUTE).toISOString() });
    const { eventId } = await runDeliverEvent(env, [start], succeeded);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes)?.timerStartedEventAttributes;
    const seconds = Number(timer?.startToFireTimeout?.seconds);
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThanOrEqual(120);
  });

  it('never sleeps longer than the rung when the clocks of Postgres and Temporal differ', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 9 * HOUR).toISOString(),
    });
    const { eventId } = await runDeliverEvent(env, [start], succeeded);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes)?.timerStartedEventAttributes;
    expect(Number(timer?.startToFireTimeout?.seconds)).toBe(300);
  });

  it('makes the attempt of a retryNow at once, which uses up the rung, and keeps later rungs as planned', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    const { requests } = await runDeliverEvent(
      env,
      [start],
      (r) => (r.number < 5 ? refused(r) : succeeded(r)),
      async (workflowId) => {
        const signal = { deliveryId: start.deliveryId, number: 3 };
        const handle = env.client.workflow.getHandle(workflowId);
        await handle.signal('retryNow', signal);
        await handle.signal('retryNow', signal);
      },
    );
    expect(requests.map(({ number, trigger, nextDelay }) => [number, trigger, nextDelay])).toEqual([
      [3, 'manual', 30 * MINUTE],
      [4, 'schedule', 2 * HOUR],
      [5, 'schedule', 6 * HOUR],
    ]);
  });

  it('ignores a retryNow for an attempt that is over', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    const { requests } = await runDeliverEvent(env, [start], succeeded, (workflowId) =>
      env.client.workflow.getHandle(workflowId).signal('retryNow', { deliveryId: start.deliveryId, number: 2 }),
    );
    expect(requests).toMatchObject([{ number: 3, trigger: 'schedule' }]);
  });

  it("continues from the row's attempt and rung after Postgres was restored from a backup", async () => {
    const start = delivery({ attemptCount: 3 });
    let restored = false;
    const { requests, eventId } = await runDeliverEvent(env, [start], (r) => {
      if (r.number === 5 && !restored) {
        restored = true;
        return { status: 'pending', reason: null, attemptCount: 1, lastOutcome: '503', wait: 7 * MINUTE };
      }
      return r.number < 3 || !restored ? refused(r) : succeeded(r);
    });
    expect(requests.map(({ number, nextDelay }) => [number, nextDelay])).toEqual([
      [4, 2 * HOUR],
      [5, 6 * HOUR],
      [2, 5 * MINUTE],
      [3, 30 * MINUTE],
    ]);
    const [, row, rung] = await spacings(env, eventId);
    expect(row).toBeGreaterThanOrEqual(7 * MINUTE);
    expect(rung).toBeLessThan(6 * MINUTE);
  });

  it('completes when its delivery is cancelled', async () => {
    const { result, failure } = await runDeliverEvent(env, [delivery()], (request) => ({
      ...refused(request),
      status: 'cancelled',
      reason: 'endpoint_deleted',
      wait: null,
    }));
    expect(failure).toBeUndefined();
    expect(result).toMatchObject([{ status: 'cancelled', reason: 'endpoint_deleted' }]);
  });

  it('begins the ladder again for a recovered delivery, and continues the attempt numbers', async () => {
    const start = delivery({ attemptCount: 7, ladderStart: 7, owner: 'recover-x' });
    const { requests } = await runDeliverEvent(env, [start], (r) => (r.number < 9 ? refused(r) : succeeded(r)));
    expect(requests.map(({ number, trigger, nextDelay, owner }) => [number, trigger, nextDelay, owner])).toEqual([
      [8, 'recover', 0, 'recover-x'],
      [9, 'recover', 5 * MINUTE, 'recover-x'],
    ]);
  });

  it('returns its progress to a query', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    let progress: unknown;
    await runDeliverEvent(env, [start], succeeded, async (workflowId) => {
      progress = await env.client.workflow.getHandle(workflowId).query('progress');
    });
    expect(progress).toMatchObject([{ host: 'hooks.example.com', status: 'pending', attemptCount: 2 }]);
  });
});
