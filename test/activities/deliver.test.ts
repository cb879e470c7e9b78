import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ApplicationFailure } from '@temporalio/activity';
import type { QueuedAt } from '../../src/delivery/handover.js';
import { queueDue } from '../../src/delivery/queue.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { lease, makeOne, record } from '../support/attempt.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { createTestActivities, deliverRequest } from '../support/deliver-activity.js';
import { NO_WAKE_UPS } from '../support/dispatcher.js';
import { ENDPOINT_SECRET, fakeSender, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const MINUTE = 60_000;

const db = await openTestDatabase();
let activities: ReturnType<typeof createTestActivities>;
beforeAll(async () => {
  activities = createTestActivities(db);
});
afterEach(() => activities.stop());

const idOf = ({ deliveries }: CommittedEvent) => deliveries[0]!.deliveryId;
const read = (event: CommittedEvent) =>
  db.prisma.delivery.findUniqueOrThrow({ where: { id: idOf(event) }, include: { attempts: true } });
const queueOf = (event: CommittedEvent) => db.prisma.queuedAttempt.findUnique({ where: { deliveryId: idOf(event) } });
const down = () => refusedBy(503);
const failureOf = async (delivered: Promise<unknown>): Promise<ApplicationFailure> =>
  delivered.then(
    () => Promise.reject(new Error('it has not failed')),
    (error) => error,
  );

/** An event whose first attempt has failed, and whose second is planned `wait` ms from now; at once in the past. */
async function failedOnce(wait: number): Promise<CommittedEvent> {
  const event = await commitEvent(db, { retryDelays: [MINUTE, MINUTE] });
  await makeOne(db, idOf(event), refusedBy(503));
  const nextAttemptAt = new Date(Date.now() + wait);
  await db.prisma.delivery.update({ where: { id: idOf(event) }, data: { nextAttemptAt } });
  return event;
}

describe('the activity deliver, where an attempt is due', () => {
  it("makes the sleeping attempt inside the activity, signed with its endpoint's secret, and returns the delivery", async () => {
    const event = await failedOnce(-1_000);
    const sender = fakeSender();
    expect(await activities.open(sender).deliver(deliverRequest(event, { attemptCount: 1 }))).toEqual({
      ...{
        deliveryId: idOf(event),
        webhookId: event.deliveries[0]!.endpointId,
        host: 'hooks.example.com',
        description: null,
      },
      ...{ status: 'succeeded', reason: null, attemptCount: 2, lastOutcome: '204', nextAttemptAt: null, wait: null },
    });
    expect(sender.sent).toMatchObject([{ body: event.body, clientId: event.clientId }]);
    expect(sender.sent).toMatchObject([{ secret: new Secret(ENDPOINT_SECRET) }]);
    expect((await read(event)).attempts).toMatchObject([{ number: 1 }, { number: 2, trigger: 'schedule' }]);
  });

  it('fails with one line after a failed attempt, red in the UI, and the workflow continues from the detail', async () => {
    const event = await failedOnce(-1);
    const timedOut = fakeSender(() => outcome({ responseStatus: null, error: 'timeout' }));
    const failure = await failureOf(activities.open(timedOut).deliver(deliverRequest(event, { attemptCount: 1 })));
    const { nextAttemptAt } = await read(event);
    expect(failure).toMatchObject({ type: 'AttemptFailed', nonRetryable: true, category: 'BENIGN' });
    const receiver = `hooks.example.com …${event.deliveries[0]!.endpointId.slice(-8)}`;
    const next = `next attempt at ${nextAttemptAt!.toISOString()}`;
    expect(failure.message).toBe(`attempt 2 to ${receiver}: timeout; ${next}`);
    const [detail] = failure.details as [DeliveryProgress];
    expect(detail).toMatchObject({ status: 'pending', attemptCount: 2, lastOutcome: 'timeout' });
    expect(detail.wait! > MINUTE - 5_000 && detail.wait! <= MINUTE).toBe(true);
  });
});

describe('the activity deliver, where no attempt is due', () => {
  it('returns what the workflow missed when it runs again: a success, or the failure of the recorded attempt', async () => {
    const [good, bad] = [await commitEvent(db), await failedOnce(MINUTE)];
    await makeOne(db, idOf(good));
    const sender = fakeSender();
    const { deliver } = activities.open(sender);
    expect(await deliver(deliverRequest(good))).toMatchObject({ status: 'succeeded', attemptCount: 1 });
    expect(await failureOf(deliver(deliverRequest(bad)))).toMatchObject({
      type: 'AttemptFailed',
      details: [{ status: 'pending', attemptCount: 1, lastOutcome: '503' }],
    });
    expect(sender.sent).toEqual([]);
  });

  it('ends a delivery whose row was lost in a restore or removed by retention, and logs it', async () => {
    const event = await commitEvent(db);
    const request = deliverRequest(event, { deliveryId: newId(), attemptCount: 3 });
    const lines: object[] = [];
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
      warn: (line: object) => lines.push(line),
    });
    const progress = await activities.open(fakeSender(), { log }).deliver(request);
    expect(progress).toMatchObject({ status: 'cancelled', reason: 'removed', attemptCount: 3, wait: null });
    expect(lines).toMatchObject([{ event_id: event.eventId, delivery_id: request.deliveryId }]);
  });
});

describe('the activity deliver, beside another worker', () => {
  it('returns the attempt of the other worker', async () => {
    const [good, bad] = [await failedOnce(-1), await failedOnce(-1)];
    const sender = fakeSender();
    const { deliver } = activities.open(sender);
    for (const [event, result] of [
      [good, outcome()],
      [bad, refusedBy(500)],
    ] as const) {
      await queueDue(db, [idOf(event)], 0);
      const held = await lease(db, idOf(event));
      const delivered = deliver(deliverRequest(event, { attemptCount: 1 })).catch((error) => error);
      await record(db, held, result);
      expect(await delivered).toMatchObject(
        result.error ? { type: 'AttemptFailed', details: [{ attemptCount: 2 }] } : { attemptCount: 2 },
      );
    }
    expect(sender.sent).toEqual([]);
  });

  // Of twenty workers and a limit of ten, half of the activities found no slot, and the attempt was made
  // elsewhere.
  it('hands the attempt on to a worker with slots of the endpoint, and returns its result', async () => {
    const event = await failedOnce(-1);
    const sender = fakeSender();
    const holder = activities.open(sender);
    const wakeUps = { ...NO_WAKE_UPS, send: ([at]: readonly QueuedAt[]) => holder.dispatcher.expect(at!) };
    const { deliver } = activities.open(fakeSender(down), { workers: { count: 11, of: () => 0 }, wakeUps });
    const progress = await deliver(deliverRequest(event, { attemptCount: 1 }));
    expect(progress).toMatchObject({ status: 'succeeded', attemptCount: 2, lastOutcome: '204' });
    expect(progress).not.toHaveProperty('maxConcurrency');
    expect(sender.sent).toHaveLength(1);
  });
});

describe('the activity deliver without a free slot', () => {
  /** A process whose only slot of the endpoint a hanging attempt has, until `release`. */
  async function full() {
    const held = Promise.withResolvers<void>();
    const sender = fakeSender(async (call) => {
      if (call === 1) await held.promise;
      return outcome();
    });
    const opened = activities.open(sender, { limits: { perEndpoint: 1 } });
    const first = await opened.commit();
    await waitFor('the first attempt', () => sender.sent.length === 1);
    const queued = () => commitEvent(db, { clientId: first.clientId, endpoints: 0 });
    return { ...opened, sender, queued, release: () => held.resolve() };
  }

  it('says so and sends nothing while enough wait; the attempt stays queued, and its record wakes the workflow', async () => {
    const { commit, deliver, queued, sender, slots, release } = await full();
    const event = await queued();
    for (let i = 0; i < 2; i++) await commit({ clientId: event.clientId, endpoints: 0 });
    await waitFor('two that wait', () => slots.waiting === 2);
    expect(await deliver(deliverRequest(event))).toMatchObject({ status: 'pending', isQueued: true });
    expect([sender.sent.length, (await queueOf(event)) !== null]).toEqual([1, true]);
    release();
  });

  it('makes the attempt inside the activity when a slot becomes free', async () => {
    const { deliver, queued, release } = await full();
    const delivered = deliver(deliverRequest(await queued()));
    release();
    expect(await delivered).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  it('lets at most 66 activities wait for an attempt, and each client its share of them; the dispatcher knows of the rest', async () => {
    const { deliver, dispatcher, queued, release } = await full();
    const ended = Promise.withResolvers<undefined>();
    const made = jest.spyOn(dispatcher, 'take').mockReturnValue(ended.promise);
    const left = jest.spyOn(dispatcher, 'expectOrTell').mockReturnValue(undefined);
    const [event, other] = [await queued(), await commitEvent(db)];
    let failed = 0;
    const all = [event, other].flatMap((one) =>
      Array.from({ length: 100 }, () => deliver(deliverRequest(one)).finally(() => failed++)),
    );
    await waitFor('those without a place to fail', () => failed + made.mock.calls.length === 200);
    const waiting = (id: string) => made.mock.calls.filter(([{ clientId }]) => clientId === id).length;
    expect(Math.max(waiting(event.clientId), waiting(other.clientId))).toBeLessThanOrEqual(33);
    expect(Math.min(waiting(event.clientId), waiting(other.clientId))).toBeGreaterThan(10);
    expect(left.mock.calls).toHaveLength(failed);
    jest.restoreAllMocks();
    ended.resolve(undefined);
    await Promise.all(all);
    release();
  });
});

describe('the activity deliver after Postgres was restored from a backup', () => {
  it('makes the attempt that is due by the row, and continues from there', async () => {
    const event = await failedOnce(-1);
    const { deliver } = activities.open(fakeSender(down));
    const progress = await deliver(deliverRequest(event, { attemptCount: 6 })).catch((error) => error);
    expect(progress).toMatchObject({ status: 'pending', attemptCount: 2 });
    expect(await deliver(deliverRequest(event, { attemptCount: 2 }))).toMatchObject({ attemptCount: 2 });
  });
});
