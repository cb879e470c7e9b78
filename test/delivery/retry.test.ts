import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTargets } from '../../src/delivery/queue.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import { enabledAt } from '../../src/endpoints/endpoints.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { lease, makeOne, record } from '../support/attempt.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint, makeTransfer, outcome, refusedBy } from '../support/factories.js';
import { countUses } from '../support/limits.js';
import { outboxOf } from '../support/outbox.js';
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
const free = { line: 'fresh', trigger: 'manual', leaseToken: null, leaseUntil: null };

describe('a manual retry', () => {
  it('regression: is made for a delivery that was cancelled while a process held its attempt', async () => {
    const target = await queued();
    const held = await lease(db, target.deliveryId);
    const { token } = held;
    await db.transaction((tx) => disableEndpoint(tx, target.endpointId, 'owner'));
    await enable(target.endpointId);
    await retry(target);
    // The process finds its attempt cancelled before it starts.
    expect(await readTargets(db, token, [held])).toEqual([undefined]);
    expect(await read(target)).toMatchObject({ delivery: { status: 'cancelled' }, queue: free, counted: 1 });
    await makeOne(db, target.deliveryId, outcome());
    expect((await read(target)).delivery).toMatchObject({ status: 'succeeded', attemptCount: 1 });
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

  it("does not find another client's delivery", async () => {
    const stranger = { ...(await asleep()), clientId: await makeClient(db) };
    await expect(retry(stranger)).rejects.toMatchObject({ code: 'not_found' });
    expect(await read(stranger)).toMatchObject({ queue: null, counted: 0 });
  });
});
