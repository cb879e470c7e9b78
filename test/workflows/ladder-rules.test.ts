import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/deliver.js';
import { createRecoverActivities } from '../../activities/recover.js';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { disableEndpoint } from '../../src/webhooks/disable-endpoint.js';
import { updateEndpoint } from '../../src/webhooks/endpoints.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { SendOutcome } from '../../src/webhooks/sender/send.js';
import { readStarts } from '../../src/workflow-starts/read-starts.js';
import { createDeliveryActions } from '../../src/workflow-starts/retry-and-recover.js';
import { startDeliverEvent } from '../../src/workflow-starts/start-deliver-event.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recoverNow, retryNow } from '../support/delivery-actions.js';
import { masterKeys, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { followTime, startTimeSkipping } from '../support/time-skipping.js';
import { waitFor } from '../support/wait-for.js';
import { thisBuild } from '../support/workflow-builds.js';

// The rules of the ladder with everything real but the receiver and the time, which Temporal's test server skips.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LADDER = [0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR];

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let follow: () => Promise<void>;
let worker: Worker;
let running: Promise<void>;
/** What the receiver does with an event's body. */
let receive: (body: string) => SendOutcome | Promise<SendOutcome>;
/** When each attempt was made, on Temporal's clock, by event. */
const madeAt = new Map<string, number[]>();
const attemptsOf = ({ eventId }: CommittedEvent) => madeAt.get(eventId) ?? [];

beforeAll(async () => {
  [env, db] = await Promise.all([startTimeSkipping(), createTestDatabase()]);
  follow = followTime(env, db);
  const { deliver } = createActivities({
    database: db,
    masterKeys,
    sender: { send: async ({ body }) => receive(body), close: async () => {} },
    recorder: new Recorder(db, silentLog),
    disableAfter: 5 * DAY,
    metrics: createMetrics(),
    log: silentLog,
    slots: new AttemptSlots({ perEndpoint: 10, perClient: 60, total: 150 }),
    inFlight: { arrived: () => undefined },
    startOwner: async () => undefined,
  });
  worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: TASK_QUEUE,
    workflowBundle: { code: thisBuild },
    activities: {
      async deliver(request: Parameters<typeof deliver>[0]) {
        await follow();
        return deliver(request);
      },
      ...createRecoverActivities({ database: db, temporal: () => ({ client: env.client }), retryDelays: LADDER }),
    },
  });
  running = worker.run();
}, 120_000);
afterAll(async () => {
  worker?.shutdown();
  await running;
  await env?.teardown();
  await db?.drop();
}, 60_000);
beforeEach(() => {
  receive = down;
});

async function down(body: string): Promise<SendOutcome> {
  await noted(body);
  return refusedBy(503);
}
async function up(body: string): Promise<SendOutcome> {
  await noted(body);
  return outcome();
}
async function noted(body: string): Promise<void> {
  const { id } = JSON.parse(body) as { id: string };
  madeAt.set(id, [...(madeAt.get(id) ?? []), await env.currentTimeMs()]);
}

/** An event whose attempts are all left to its workflow; the endpoint is a new one, or that of `clientId`. */
async function begin(clientId?: string): Promise<CommittedEvent> {
  await follow();
  const event = await commitEvent(db, { claims: false, ...(clientId && { clientId, endpoints: 0 }) });
  const [start] = await readStarts(db, [event], LADDER);
  await startDeliverEvent(env.client, start!, { eager: false, reuse: 'start-once' });
  return event;
}
async function fallAsleep(clientId?: string): Promise<CommittedEvent> {
  const event = await begin(clientId);
  await untilAttempts(event, 2);
  return event;
}
const read = ({ deliveries }: CommittedEvent) =>
  db.prisma.delivery.findUniqueOrThrow({
    where: { id: deliveries[0]!.deliveryId },
    include: { attempts: { orderBy: { number: 'asc' } } },
  });
const endpointOf = ({ deliveries }: CommittedEvent) =>
  db.prisma.endpoint.findUniqueOrThrow({ where: { id: deliveries[0]!.endpointId } });
const triggers = async (event: CommittedEvent) => (await read(event)).attempts.map(({ trigger }) => trigger);
const untilAttempts = (event: CommittedEvent, count: number) =>
  waitFor(`attempt ${count}`, async () => (await read(event)).attemptCount === count);
const untilEnded = (workflowId: string) =>
  waitFor('its end', async () => {
    const { status } = await env.client.workflow.getHandle(workflowId).describe();
    return status.name !== 'RUNNING';
  });

/** DELIVERY_RETRY_DELAYS as the steering process has it: another than what the workflows began with. */
const deliveryActions = () => createDeliveryActions(() => env.client, [0, 1_000]);
const retry = ({ clientId, deliveries }: CommittedEvent) =>
  retryNow(db, deliveryActions(), clientId, deliveries[0]!.deliveryId);

/** The waits between the attempts are these; what is more is the time of the workflow's tasks, which nothing skips. */
function expectWaits(event: CommittedEvent, waits: readonly number[]): void {
  const at = attemptsOf(event);
  const measured = at.slice(1).map((time, i) => time - at[i]!);
  expect(measured.map((wait, i) => wait >= waits[i]! && wait < waits[i]! + MINUTE)).toEqual(waits.map(() => true));
}

/** A little more than a whole ladder. */
const A_LADDER = 33 * HOUR;

describe('retry-now', () => {
  it('uses up the rung it woke; the rest of the ladder goes on as it was when the delivery began', async () => {
    const event = await fallAsleep();
    await retry(event);
    await untilAttempts(event, 3);
    await env.sleep(A_LADDER);
    await untilEnded(event.eventId);
    expectWaits(event, [0, 0, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 24 * HOUR]);
    expect(await triggers(event)).toEqual(['schedule', 'schedule', 'manual', ...Array(4).fill('schedule')]);
    expect(await read(event)).toMatchObject({ status: 'failed', reason: 'exhausted', attemptCount: 7 });
  });

  it('while an attempt is in flight makes nothing more, and shortens no wait', async () => {
    const event = await fallAsleep();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    receive = async (body) => {
      await noted(body);
      await held;
      return refusedBy(503);
    };
    await Promise.all([retry(event), retry(event)]);
    await waitFor('the attempt', () => attemptsOf(event).length === 3);
    await retry(event);
    receive = up;
    release();
    await untilAttempts(event, 3);
    await env.sleep(HOUR);
    await untilEnded(event.eventId);
    expectWaits(event, [0, 0, 30 * MINUTE]);
    expect(await triggers(event)).toEqual(['schedule', 'schedule', 'manual', 'schedule']);
  });

  it.each([
    ['failed', refusedBy(410)],
    ['succeeded', outcome()],
  ] as const)(
    'in vain leaves a delivery %s that had ended so; one with success makes it succeeded',
    async (status, end) => {
      receive = () => end;
      const event = await begin();
      await untilEnded(event.eventId);
      await db.prisma.endpoint.updateMany({ where: { clientId: event.clientId }, data: { enabled: true } });
      const { reason, finishedAt } = await read(event);
      expect(await read(event)).toMatchObject({ status, attemptCount: 1 });

      receive = down;
      await retry(event);
      await untilEnded(`retry-${event.deliveries[0]!.deliveryId}-2`);
      expect(await read(event)).toMatchObject({ status, reason, finishedAt, attemptCount: 2, nextAttemptAt: null });

      receive = up;
      await retry(event);
      const workflowId = `retry-${event.deliveries[0]!.deliveryId}-3`;
      await untilEnded(workflowId);
      expect(await read(event)).toMatchObject({ status: 'succeeded', reason: null, attemptCount: 3 });
      const { searchAttributes } = await env.client.workflow.getHandle(workflowId).describe();
      expect(searchAttributes).toMatchObject({ DeliveryState: ['delivered'] });
    },
  );
});

describe('an endpoint that goes away in the middle of the ladder', () => {
  it('disabled by its owner: its delivery is cancelled at once, and its workflow ends at its rung with no attempt', async () => {
    const event = await fallAsleep();
    await db.transaction((tx) => disableEndpoint(tx, event.deliveries[0]!.endpointId, 'owner'));
    const cancelled = { status: 'cancelled', reason: 'endpoint_disabled', nextAttemptAt: null, attemptCount: 2 };
    expect(await read(event)).toMatchObject(cancelled);
    await env.sleep(5 * MINUTE);
    await untilEnded(event.eventId);
    const result = await env.client.workflow.getHandle(event.eventId).result();
    expect(result).toMatchObject([{ status: 'cancelled', reason: 'endpoint_disabled' }]);
    expect(await read(event)).toMatchObject(cancelled);
    expect(attemptsOf(event)).toHaveLength(2);
  });

  it('gone, 410: that delivery has failed, the others are cancelled', async () => {
    const event = await fallAsleep();
    const other = await fallAsleep(event.clientId);
    receive = () => refusedBy(410);
    await retry(event);
    await untilEnded(event.eventId);
    await env.sleep(5 * MINUTE);
    await untilEnded(other.eventId);
    expect(await read(event)).toMatchObject({ status: 'failed', reason: 'endpoint_gone', attemptCount: 3 });
    expect(await read(other)).toMatchObject({ status: 'cancelled', reason: 'endpoint_gone', attemptCount: 2 });
    expect(await endpointOf(event)).toMatchObject({ enabled: false, disabledReason: 'gone' });
  });
});

it('recover begins the ladder again, from its start, in a workflow of its own', async () => {
  const event = await fallAsleep();
  const { deliveryId, endpointId } = event.deliveries[0]!;
  await env.sleep(A_LADDER);
  await untilEnded(event.eventId);
  const scope = { since: 0, until: Date.now() + HOUR };
  expect(await recoverNow(db, deliveryActions(), event.clientId, endpointId, scope)).toBe(1);
  await untilAttempts(event, 9);
  await env.sleep(A_LADDER);
  await untilEnded(`recover-${deliveryId}-7`);
  expect(await read(event)).toMatchObject({ status: 'failed', reason: 'exhausted', attemptCount: 14, ladderStart: 7 });
  expect(await triggers(event)).toEqual([...Array(7).fill('schedule'), ...Array(7).fill('recover')]);
  madeAt.set(event.eventId, attemptsOf(event).slice(7));
  expectWaits(event, LADDER);
});

describe('an endpoint with no success for 5 days', () => {
  it('is disabled with the second delivery that is exhausted then, but for a success; enabled again, it has 5 days', async () => {
    const [first, lucky] = [await fallAsleep(), await fallAsleep()];
    await env.sleep(3 * DAY);
    expect([(await read(first)).status, (await endpointOf(first)).enabled]).toEqual(['failed', true]);
    receive = up;
    await untilEnded((await begin(lucky.clientId)).eventId);
    receive = down;

    await env.sleep(DAY);
    const [second, luckySecond] = [await fallAsleep(first.clientId), await fallAsleep(lucky.clientId)];
    await env.sleep(DAY + HOUR);
    const third = await fallAsleep(first.clientId);
    await env.sleep(A_LADDER);
    for (const { eventId } of [second, luckySecond, third]) await untilEnded(eventId);
    expect(await read(second)).toMatchObject({ status: 'failed', reason: 'exhausted' });
    expect(await endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
    // Made an hour into day 5, cancelled 7 h 35 m later: asleep on its rung of 6 hours.
    expect(await read(third)).toMatchObject({ status: 'cancelled', reason: 'endpoint_disabled', attemptCount: 5 });
    expect(await read(luckySecond)).toMatchObject({ status: 'failed', reason: 'exhausted' });
    expect(await endpointOf(lucky)).toMatchObject({ enabled: true });

    const { id, url } = await endpointOf(first);
    const rules = { httpsOnly: true, blocksLiteral: () => false, maxEndpoints: 20 };
    await follow();
    await updateEndpoint(db, rules, { clientId: first.clientId, id, url, description: null, enabled: true });
    const again = [await fallAsleep(first.clientId), await fallAsleep(first.clientId)];
    await env.sleep(4 * DAY);
    for (const { eventId } of again) await untilEnded(eventId);
    expect(await endpointOf(first)).toMatchObject({ enabled: true, disabledReason: null });
    const last = await fallAsleep(first.clientId);
    await env.sleep(A_LADDER);
    await untilEnded(last.eventId);
    expect(await endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });
});
