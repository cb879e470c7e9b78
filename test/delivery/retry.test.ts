import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dropStale, freeExpired, readTargets } from '../../src/delivery/queue.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import { enabledAt } from '../../src/endpoints/endpoints.js';
import { newId } from '../../src/platform/ids.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { lease, makeOne, record } from '../support/attempt.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expireLeases } from '../support/expire-leases.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint, makeTransfer, outcome, refusedBy } from '../support/factories.js';
import { countUses } from '../support/limits.js';
import { outboxOf, setOutbox } from '../support/outbox.js';
import { recordingHandover } from '../support/recording-handover.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase({ poolSize: 12 });
});
afterAll(() => db.drop());

const MINUTE = 60_000;
const LADDER = [0, 5 * MINUTE, 30 * MINUTE];
const handover = recordingHandover({ retryDelays: LADDER });

/** A delivery whose first attempt is queued. */
async function queued(retryDelays: readonly number[] = LADDER) {
  const clientId = await makeClient(db);
  const { id: endpointId } = await makeEndpoint(db, clientId);
  const { id: transferId } = await makeTransfer(db, clientId);
  const ownLadder = recordingHandover({ retryDelays });
  await changeStatus(db, ownLadder, { transferId, to: 'PROCESSING', reason: null });
  const { eventId, deliveries } = ownLadder.events[0]!;
  return { clientId, endpointId, eventId, deliveryId: deliveries[0]!.deliveryId };
}
type Target = Awaited<ReturnType<typeof queued>>;

/** A delivery that sleeps before the third attempt of its ladder. */
async function asleep(): Promise<Target> {
  const target = await queued();
  const first = await lease(db, target.deliveryId);
  await record(db, first, refusedBy(503));
  await record(db, { ...first, number: 2 }, refusedBy(503));
  return target;
}

async function ended(status: 'succeeded' | 'failed' | 'cancelled'): Promise<Target> {
  const target = await queued([]);
  if (status !== 'cancelled') {
    await makeOne(db, target.deliveryId, status === 'failed' ? refusedBy(503) : outcome());
    return target;
  }
  await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
  await enable(target.endpointId);
  return target;
}
const enable = (id: string) => db.prisma.endpoint.update({ where: { id }, data: enabledAt(new Date()) });

const retry = ({ clientId, deliveryId }: Target) => retryDelivery(db, handover, { by, clientId, deliveryId });
const read = async ({ deliveryId: id, eventId }: Target) => ({
  delivery: await db.prisma.delivery.findUniqueOrThrow({ where: { id } }),
  queue: await db.prisma.queuedAttempt.findUnique({ where: { deliveryId: id } }),
  outbox: await outboxOf(db, eventId),
  counted: await countUses(db, 'retries', id),
  handedOver: handover.retried.filter((retried) => retried === id).length,
});
/** As the workflow starter does. */
const workflowStarted = ({ eventId }: Target) => setOutbox(db, eventId, null);
const free = { line: 'fresh', trigger: 'manual', leaseToken: null, leaseUntil: null };

describe('a manual retry', () => {
  it('queues one attempt of a sleeping delivery now, and leaves its plan', async () => {
    const target = await asleep();
    const before = await read(target);
    expect(before).toMatchObject({ delivery: { asleep: true, attemptCount: 2, rung: 2 }, queue: null });
    await retry(target);
    const { delivery, queue, ...rest } = await read(target);
    expect(delivery).toEqual({ ...before.delivery, asleep: false });
    expect(queue).toMatchObject(free);
    expect(queue!.dueAt.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(rest).toMatchObject({ counted: 1, handedOver: 1 });
  });

  it('makes a queued attempt a manual one', async () => {
    const target = await queued();
    await retry(target);
    expect(await read(target)).toMatchObject({ queue: free, delivery: { status: 'pending' }, counted: 1 });
    expect(await lease(db, target.deliveryId)).toMatchObject({ number: 1, trigger: 'manual' });
  });

  it('brings an overdue attempt of the late line to the fresh line', async () => {
    const target = await queued();
    const dueAt = new Date(Date.now() - MINUTE);
    await db.prisma.queuedAttempt.update({ where: { deliveryId: target.deliveryId }, data: { line: 'late', dueAt } });
    await retry(target);
    const { queue } = await read(target);
    expect(queue).toMatchObject(free);
    expect(queue!.dueAt.getTime()).toBeGreaterThan(dueAt.getTime());
  });

  it.each(['succeeded', 'failed', 'cancelled'] as const)(
    'queues one attempt of a delivery that has %s',
    async (status) => {
      const target = await ended(status);
      const before = await read(target);
      expect(before).toMatchObject({ delivery: { status, nextAttemptAt: null }, queue: null });
      await retry(target);
      const { delivery, queue, ...rest } = await read(target);
      expect(delivery).toEqual(before.delivery);
      expect(queue).toMatchObject(free);
      expect(rest).toMatchObject({ counted: 1, handedOver: 1 });
      const number = before.delivery.attemptCount + 1;
      expect(await lease(db, target.deliveryId)).toMatchObject({
        number,
        trigger: 'manual',
        isDue: true,
      });
    },
  );

  it.each([
    ['a leased first attempt', queued, false],
    ['a manual retry that waits', asleep, true],
    ['a manual retry in flight', asleep, true],
    ['a manual retry of an ended delivery that waits', () => ended('failed'), true],
    ['a manual retry of an ended delivery in flight', () => ended('failed'), true],
  ] as const)('changes nothing during %s, and does not count', async (what, make, isManual) => {
    const target = await make();
    if (isManual) await retry(target);
    if (!what.endsWith('waits')) await lease(db, target.deliveryId);
    const before = await read(target);
    await retry(target);
    await retry(target);
    expect(await read(target)).toEqual(before);
    expect(before.counted).toBe(isManual ? 1 : 0);
  });

  it("counts if the attempt's lease has ended because its process is dead", async () => {
    const target = await queued();
    await lease(db, target.deliveryId);
    const leaseUntil = new Date(Date.now() - 1_000);
    await db.prisma.queuedAttempt.update({ where: { deliveryId: target.deliveryId }, data: { leaseUntil } });
    await retry(target);
    expect(await read(target)).toMatchObject({ queue: { trigger: 'manual' }, counted: 1 });
    expect(await lease(db, target.deliveryId)).toMatchObject({ number: 1, trigger: 'manual' });
  });

  it('regression: is made for a delivery that was cancelled while a process held its attempt', async () => {
    const target = await queued();
    const held = await lease(db, target.deliveryId);
    const { token } = held;
    await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
    await enable(target.endpointId);
    await retry(target);
    // The process finds its attempt cancelled before it starts.
    expect(await readTargets(db, token, [held])).toEqual([undefined]);
    await dropStale(db, token, [target.deliveryId]);
    expect(await read(target)).toMatchObject({ delivery: { status: 'cancelled' }, queue: free, counted: 1 });
    await makeOne(db, target.deliveryId, outcome());
    expect((await read(target)).delivery).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  // The record of an attempt whose lease had ended removed the row of the manual retry from the queue.
  it.each([
    ['fails before a later rung', [5 * MINUTE], refusedBy(503), { status: 'pending', rung: 1 }],
    ['fails before a rung of 0 s', [0, 5 * MINUTE], refusedBy(503), { status: 'pending', rung: 1 }],
    ['fails at the last rung', [], refusedBy(503), { status: 'failed', reason: 'exhausted' }],
    ['succeeds', [5 * MINUTE], outcome(), { status: 'succeeded' }],
  ] as const)('is made although an attempt whose lease has ended %s after it was accepted', async (...given) => {
    const [, ladder, result, state] = given;
    const target = await queued(ladder);
    const slow = await lease(db, target.deliveryId);
    await expireLeases(db);
    await retry(target);
    await record(db, slow, result);
    expect(await read(target)).toMatchObject({ delivery: { ...state, asleep: false }, queue: free, counted: 1 });
    await makeOne(db, target.deliveryId, outcome());
    const { delivery, queue } = await read(target);
    expect(delivery).toMatchObject({ status: 'succeeded', attemptCount: 2 });
    expect(queue).toBeNull();
  });

  it('is made although an older manual attempt succeeds late, after another worker has recorded its number', async () => {
    const target = await asleep();
    await retry(target);
    const slow = await lease(db, target.deliveryId);
    await expireLeases(db);
    await freeExpired(db);
    await makeOne(db, target.deliveryId, refusedBy(503));
    await retry(target);
    await record(db, slow, outcome());
    expect(await read(target)).toMatchObject({ delivery: { status: 'succeeded' }, queue: free, counted: 2 });
  });

  it.each([
    ['sleeps', asleep],
    ['has failed', () => ended('failed')],
  ] as const)('makes one attempt of a delivery that %s, however many arrive at the same moment', async (_, make) => {
    const target = await make();
    await Promise.all(Array.from({ length: 8 }, () => retry(target)));
    expect(await read(target)).toMatchObject({ queue: free, counted: 1, handedOver: 1 });
    const entries = await db.prisma.auditEntry.count({ where: { target: target.deliveryId } });
    expect(entries).toBe(1);
    await makeOne(db, target.deliveryId, refusedBy(503));
    expect(await read(target)).toMatchObject({ queue: null });
  });

  it('that arrives while the attempt is recorded queues the next one', async () => {
    const target = await asleep();
    await retry(target);
    const first = await lease(db, target.deliveryId);
    const holder = await db.openSession();
    await holder.query('begin');
    await holder.query('select from deliveries where id = $1 for no key update', [target.deliveryId]);
    const late = retry(target);
    await db.untilBlocked();
    expect(await record(db, first, refusedBy(503))).toMatchObject({ isLocked: true });
    await holder.query('commit');
    const recorded = waitFor('the record', async () => !(await record(db, first, refusedBy(503)))?.isLocked);
    await Promise.all([recorded, late]);
    const { delivery, queue, counted } = await read(target);
    expect(delivery.attemptCount).toBe(3);
    // Before the record it is the attempt that is in flight, after it one extra attempt.
    expect(queue === null ? counted : counted - 1).toBe(1);
  });

  it('writes an audit entry in its transaction', async () => {
    const target = await asleep();
    await retry(target);
    const { deliveryId, eventId, endpointId, clientId } = target;
    expect(await db.prisma.auditEntry.findMany({ where: { target: deliveryId } })).toMatchObject([
      {
        action: 'deliveries.retry',
        actor: by.actor,
        details: { client_id: clientId, event_id: eventId, webhookId: endpointId },
      },
    ]);
  });

  it('that is rolled back queues, counts and hands over nothing', async () => {
    const target = await asleep();
    const before = await read(target);
    const { clientId, deliveryId } = target;
    const rolledBack = db.transaction(async (tx) => {
      await retryDelivery(tx, handover, { by, clientId, deliveryId });
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(await read(target)).toEqual(before);
  });

  it.each([
    ['disabled', { enabled: false }],
    ['deleted', { deletedAt: new Date() }],
  ])('is rejected if the endpoint is %s', async (_, data) => {
    const target = await asleep();
    await db.prisma.endpoint.update({ where: { id: target.endpointId }, data });
    await expect(retry(target)).rejects.toMatchObject({ code: 'endpoint_not_active' });
    expect(await read(target)).toMatchObject({ queue: null, counted: 0 });
  });

  it("does not find another client's delivery, or one that does not exist", async () => {
    const target = await asleep();
    const stranger = { ...target, clientId: await makeClient(db) };
    await expect(retry(stranger)).rejects.toMatchObject({ code: 'not_found' });
    await expect(retry({ ...target, deliveryId: newId() })).rejects.toMatchObject({ code: 'not_found' });
    await retryDelivery(db, handover, { by, clientId: null, deliveryId: target.deliveryId });
    expect(await read(target)).toMatchObject({ counted: 1 });
  });
});

describe('the attempt of a manual retry', () => {
  it('that fails leaves the next attempt and the ladder of a sleeping delivery, and its workflow shows it', async () => {
    const target = await asleep();
    await workflowStarted(target);
    const before = await read(target);
    for (const number of [3, 4]) {
      await retry(target);
      expect(await makeOne(db, target.deliveryId, refusedBy(503))).toMatchObject({
        number,
        status: 'pending',
        isDue: false,
      });
      const { delivery, queue, outbox } = await read(target);
      expect(delivery).toEqual({ ...before.delivery, attemptCount: number });
      expect([queue, outbox]).toEqual([null, 'again']);
    }
  });

  it('that fails after the planned time is followed by the planned attempt at once, which uses its rung', async () => {
    const target = await asleep();
    await retry(target);
    const planned = new Date(Date.now() - 1_000);
    await db.prisma.delivery.update({ where: { id: target.deliveryId }, data: { nextAttemptAt: planned } });
    const manual = await lease(db, target.deliveryId);
    expect(await record(db, manual, refusedBy(503))).toMatchObject({ number: 3, isDue: true });
    const { delivery, queue } = await read(target);
    expect(delivery).toMatchObject({ status: 'pending', asleep: false, rung: 2, nextAttemptAt: planned });
    expect(queue).toMatchObject({ trigger: 'schedule', leaseToken: null, dueAt: planned });
    await record(db, { ...manual, number: 4, trigger: 'schedule' }, refusedBy(503));
    expect(await read(target)).toMatchObject({ delivery: { rung: 3, asleep: true }, queue: null });
  });

  it('of a queued first attempt that fails leaves the whole ladder', async () => {
    const target = await queued();
    await retry(target);
    expect(await makeOne(db, target.deliveryId, refusedBy(503))).toMatchObject({ number: 1, isDue: true });
    expect(await read(target)).toMatchObject({
      delivery: { rung: 0, status: 'pending' },
      queue: { trigger: 'schedule' },
    });
  });

  it('of a recovered delivery that fails is followed by the attempts of the recovery', async () => {
    const target = await queued();
    await db.prisma.delivery.update({ where: { id: target.deliveryId }, data: { recovered: true } });
    await retry(target);
    expect(await makeOne(db, target.deliveryId, refusedBy(503))).toMatchObject({ isDue: true });
  });

  it('that succeeds makes a sleeping delivery succeed', async () => {
    const target = await asleep();
    await workflowStarted(target);
    await retry(target);
    await makeOne(db, target.deliveryId);
    expect(await read(target)).toMatchObject({
      delivery: { status: 'succeeded', nextAttemptAt: null, asleep: false, finishedAt: expect.any(Date) },
      ...{ queue: null, outbox: 'again' },
    });
  });

  it('that gets a 410 ends a sleeping delivery', async () => {
    const target = await asleep();
    await retry(target);
    await makeOne(db, target.deliveryId, refusedBy(410));
    expect(await read(target)).toMatchObject({
      delivery: { status: 'failed', reason: 'endpoint_gone', nextAttemptAt: null, asleep: false },
      queue: null,
    });
  });

  it.each(['succeeded', 'failed', 'cancelled'] as const)(
    'that fails leaves a delivery that has %s as it is, and one that succeeds makes it succeed',
    async (status) => {
      const target = await ended(status);
      await workflowStarted(target);
      const { delivery: before } = await read(target);
      await retry(target);
      await makeOne(db, target.deliveryId, refusedBy(503));
      const attemptCount = before.attemptCount + 1;
      expect(await read(target)).toMatchObject({ delivery: { ...before, attemptCount }, queue: null, outbox: 'again' });
      await retry(target);
      await makeOne(db, target.deliveryId);
      expect(await read(target)).toMatchObject({
        delivery: { status: 'succeeded', reason: null, nextAttemptAt: null, attemptCount: attemptCount + 1 },
        queue: null,
      });
    },
  );

  it('is not made if the endpoint of a sleeping delivery is disabled before it: the delivery is cancelled', async () => {
    const target = await asleep();
    await retry(target);
    await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
    expect(await read(target)).toMatchObject({ delivery: { status: 'cancelled' }, queue: null });
  });

  it('is not made if the endpoint of an ended delivery is disabled before it: the delivery is unchanged', async () => {
    const target = await ended('failed');
    const { delivery } = await read(target);
    await retry(target);
    await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
    const { token, isDue } = await lease(db, target.deliveryId);
    expect(isDue).toBe(false);
    await dropStale(db, token, [target.deliveryId]);
    expect(await read(target)).toMatchObject({ delivery, queue: null });
  });

  it.each([
    ['a success', outcome(), 'succeeded'],
    ['a failure', refusedBy(503), 'cancelled'],
  ] as const)('that is in flight when the endpoint is disabled is recorded: %s', async (_, made, status) => {
    const target = await asleep();
    await retry(target);
    const inFlight = await lease(db, target.deliveryId);
    await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
    expect(await read(target)).toMatchObject({ delivery: { status: 'cancelled' } });
    await record(db, inFlight, made);
    expect(await read(target)).toMatchObject({ delivery: { status, attemptCount: 3 }, queue: null });
  });
});
