import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { WorkflowFailedError } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { newId } from '../../src/ids.js';
import type { DeliverOutcome, DeliverRequest } from '../../workflows/deliver-event.activities.js';
import type { DeliverEventInput, DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { startTimeSkipping } from '../support/time-skipping.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LADDER = [0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR];
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

let env: TestWorkflowEnvironment;
let queue = 0;

beforeAll(async () => {
  expect(existsSync(codePath)).toBe(true);
  env = await startTimeSkipping();
}, 120_000);
afterAll(() => env?.teardown());

function delivery(
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

const succeeded = ({ number }: DeliverRequest): DeliverOutcome => ({
  status: 'succeeded',
  reason: null,
  attemptCount: number,
  lastOutcome: '204',
  wait: null,
});
const refused = ({ number, nextDelay }: DeliverRequest): DeliverOutcome => ({
  status: nextDelay === null ? 'failed' : 'pending',
  reason: nextDelay === null ? 'exhausted' : null,
  attemptCount: number,
  lastOutcome: '503',
  wait: nextDelay,
});

/** Runs the workflow against an activity that answers as `answer` says; keeps what was asked for. */
async function run(
  deliveries: DeliverEventInput['deliveries'],
  answer: (request: DeliverRequest) => DeliverOutcome,
  during: (workflowId: string) => Promise<void> = async () => undefined,
) {
  const taskQueue = `deliver-event-${++queue}`;
  const requests: DeliverRequest[] = [];
  const activities = {
    async deliver(request: DeliverRequest) {
      requests.push(request);
      return answer(request);
    },
  };
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue,
    workflowBundle: { codePath },
    activities,
  });
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

/** ms from the end of each attempt to the next one being scheduled, on the server's clock. */
async function spacings(workflowId: string): Promise<number[]> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  const time = (event: NonNullable<typeof events>[number]) =>
    Number(event.eventTime?.seconds) * 1_000 + Math.round((event.eventTime?.nanos ?? 0) / 1e6);
  const scheduled = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes).map(time);
  const completed = (events ?? []).filter((event) => event.activityTaskCompletedEventAttributes).map(time);
  return scheduled.slice(1).map((at, i) => at - (completed[i] ?? 0));
}

describe('retryDelivery', () => {
  it('asks for the attempt after the one that the row has when Postgres was set back', async () => {
    const asked: number[] = [];
    const answers = { 6: 2, 3: 3 } as Record<number, number>;
    const activities = {
      async deliver({ number }: DeliverRequest): Promise<DeliverOutcome> {
        asked.push(number);
        const attemptCount = answers[number] ?? number;
        return {
          status: number === 3 ? 'succeeded' : 'failed',
          reason: null,
          attemptCount,
          lastOutcome: '204',
          wait: null,
        };
      },
    };
    const taskQueue = `retry-${++queue}`;
    const connection = env.nativeConnection;
    const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, activities });
    const { host, deliveryId, webhookId } = delivery();
    const input = { deliveryId, webhookId, host, clientId: newId(), number: 6, owner: null };
    const outcome = await worker.runUntil(
      env.client.workflow.execute('retryDelivery', { taskQueue, workflowId: newId(), args: [input] }),
    );
    expect(asked).toEqual([6, 3]);
    expect(outcome).toMatchObject({ status: 'succeeded', attemptCount: 3 });
  });
});

describe('recoverEndpoint', () => {
  it('goes on batch by batch until there are no more', async () => {
    const taskQueue = `recover-${++queue}`;
    const asked: (string | null)[] = [];
    const activities = {
      async recoverBatch({ after }: { after: string | null }) {
        asked.push(after);
        return asked.length < 3 ? { recovered: 20, after: `d${asked.length}` } : { recovered: 7, after: null };
      },
    };
    const connection = env.nativeConnection;
    const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, activities });
    const scope = { clientId: newId(), webhookId: newId(), host: 'hooks.example.com', since: 0, until: 1, count: 47 };
    const recovered = await worker.runUntil(
      env.client.workflow.execute('recoverEndpoint', { taskQueue, workflowId: newId(), args: [scope] }),
    );
    expect(recovered).toBe(47);
    expect(asked).toEqual([null, 'd1', 'd2']);
  });
});

describe('deliverEvent', () => {
  it('climbs the whole ladder of 32 h 35 m in seven attempts, each spaced as the spec says, and fails with the reason', async () => {
    const { failure, requests, eventId } = await run([delivery()], refused);
    expect(requests.map(({ number, trigger, nextDelay }) => [number, trigger, nextDelay])).toEqual([
      [1, 'schedule', 0],
      [2, 'schedule', 5 * MINUTE],
      [3, 'schedule', 30 * MINUTE],
      [4, 'schedule', 2 * HOUR],
      [5, 'schedule', 6 * HOUR],
      [6, 'schedule', 24 * HOUR],
      [7, 'schedule', null],
    ]);
    const measured = await spacings(eventId);
    expect(measured).toHaveLength(LADDER.length);
    measured.forEach((spacing, i) => {
      expect(spacing).toBeGreaterThanOrEqual(LADDER[i]!);
      // What is not timer is the workflow's tasks: real time, since nothing skips it.
      expect(spacing).toBeLessThan(LADDER[i]! + 30_000);
    });
    expect(failure).toBe('hooks.example.com: exhausted after 7 attempts, the last: 503');
  });

  it('goes on where the express lane left off: attempt 1 failed, so the next is number 2, at once', async () => {
    const start = delivery({ attemptCount: 1, lastOutcome: '500', nextAttemptAt: new Date().toISOString() });
    const { result, requests } = await run([start], succeeded);
    expect(requests.map(({ number }) => number)).toEqual([2]);
    expect(result).toMatchObject([{ status: 'succeeded', attemptCount: 2, lastOutcome: '204' }]);
  });

  it('makes attempt 1 itself where the lane left it there', async () => {
    const { requests } = await run([delivery()], succeeded);
    expect(requests).toMatchObject([{ number: 1, owner: null, single: false }]);
  });

  it('completes in its first task where everything was delivered before', async () => {
    const { result, requests, eventId } = await run([delivery({ status: 'succeeded', attemptCount: 1 })], succeeded);
    expect(requests).toEqual([]);
    expect(result).toHaveLength(1);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    expect(events).toHaveLength(5);
  });

  it('runs the ladders of several endpoints side by side', async () => {
    const dead = delivery({ host: 'dead.example.com' });
    const good = delivery({ host: 'good.example.com' });
    const { failure, requests } = await run([dead, good], (request) =>
      request.deliveryId === dead.deliveryId ? refused(request) : succeeded(request),
    );
    expect(requests.filter(({ deliveryId }) => deliveryId === good.deliveryId)).toHaveLength(1);
    expect(requests.filter(({ deliveryId }) => deliveryId === dead.deliveryId)).toHaveLength(7);
    expect(failure).toMatch(/^dead\.example\.com: /);
  });

  it('sleeps until the planned time, not for a rung counted from its own start', async () => {
    const now = await env.currentTimeMs();
    const start = delivery({ attemptCount: 2, nextAttemptAt: new Date(now + 2 * MINUTE).toISOString() });
    const { eventId } = await run([start], succeeded);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes)?.timerStartedEventAttributes;
    const seconds = Number(timer?.startToFireTimeout?.seconds);
    expect(seconds).toBeGreaterThan(90);
    expect(seconds).toBeLessThanOrEqual(120);
  });

  it('never sleeps longer than the rung, however far the clocks of Postgres and Temporal are apart', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 9 * HOUR).toISOString(),
    });
    const { eventId } = await run([start], succeeded);
    const { events } = await env.client.workflow.getHandle(eventId).fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes)?.timerStartedEventAttributes;
    expect(Number(timer?.startToFireTimeout?.seconds)).toBe(300);
  });

  it('is woken by retryNow for the attempt asked for, which uses up the rung; later rungs go on as planned', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    const { requests } = await run(
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

  it('ignores retryNow for an attempt that is over', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    const { requests } = await run([start], succeeded, (workflowId) =>
      env.client.workflow.getHandle(workflowId).signal('retryNow', { deliveryId: start.deliveryId, number: 2 }),
    );
    expect(requests).toMatchObject([{ number: 3, trigger: 'schedule' }]);
  });

  it('goes on from where the row stands when Postgres was set back, on the rung that the row is at', async () => {
    const start = delivery({ attemptCount: 3 });
    let setBack = false;
    const { requests, eventId } = await run([start], (r) => {
      if (r.number === 5 && !setBack) {
        setBack = true;
        return { status: 'pending', reason: null, attemptCount: 1, lastOutcome: '503', wait: 7 * MINUTE };
      }
      return r.number < 3 || !setBack ? refused(r) : succeeded(r);
    });
    expect(requests.map(({ number, nextDelay }) => [number, nextDelay])).toEqual([
      [4, 2 * HOUR],
      [5, 6 * HOUR],
      [2, 5 * MINUTE],
      [3, 30 * MINUTE],
    ]);
    const [, row, rung] = await spacings(eventId);
    expect(row).toBeGreaterThanOrEqual(7 * MINUTE);
    expect(rung).toBeLessThan(6 * MINUTE);
  });

  it('completes when its delivery was cancelled', async () => {
    const { result, failure } = await run([delivery()], (request) => ({
      ...refused(request),
      status: 'cancelled',
      reason: 'endpoint_deleted',
      wait: null,
    }));
    expect(failure).toBeUndefined();
    expect(result).toMatchObject([{ status: 'cancelled', reason: 'endpoint_deleted' }]);
  });

  it('begins the ladder again for a recovered delivery, while attempts are counted on', async () => {
    const start = delivery({ attemptCount: 7, ladderStart: 7, owner: 'recover-x' });
    const { requests } = await run([start], (r) => (r.number < 9 ? refused(r) : succeeded(r)));
    expect(requests.map(({ number, trigger, nextDelay, owner }) => [number, trigger, nextDelay, owner])).toEqual([
      [8, 'recover', 0, 'recover-x'],
      [9, 'recover', 5 * MINUTE, 'recover-x'],
    ]);
  });

  it('tells its progress when queried', async () => {
    const start = delivery({
      attemptCount: 2,
      nextAttemptAt: new Date((await env.currentTimeMs()) + 5 * MINUTE).toISOString(),
    });
    let progress: unknown;
    await run([start], succeeded, async (workflowId) => {
      progress = await env.client.workflow.getHandle(workflowId).query('progress');
    });
    expect(progress).toMatchObject([{ host: 'hooks.example.com', status: 'pending', attemptCount: 2 }]);
  });
});
