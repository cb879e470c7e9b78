import { ApplicationFailure } from '@temporalio/activity';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
import type { DeliverRequest } from '../../workflows/deliver-event.activities.js';
import { countDeliveries, makeBacklog } from '../support/backlog.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DeliverOptions, deliverActivity, deliverRequest } from '../support/deliver-activity.js';
import { expireLeases } from '../support/expire-leases.js';
import { fakeSender, outcome, refusedBy } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const deliver = (sender: Sender, asked: DeliverRequest, options?: DeliverOptions) =>
  deliverActivity(db, sender, options)(asked);

const free = () => commitEvent(db, { leases: false });
const read = (event: CommittedEvent) =>
  db.prisma.delivery.findUniqueOrThrow({ where: { id: event.deliveries[0]!.deliveryId }, include: { attempts: true } });

describe('the activity deliver', () => {
  it('makes the attempt and returns its outcome as a value', async () => {
    const event = await free();
    const sender = fakeSender();
    expect(await deliver(sender, deliverRequest(event))).toEqual({
      status: 'succeeded',
      reason: null,
      attemptCount: 1,
      lastOutcome: '204',
      wait: null,
    });
    expect(sender.sent).toMatchObject([{ body: event.body, clientId: event.clientId }]);
  });

  it('returns how long to wait after a failure of the receiver, and does not throw', async () => {
    const event = await free();
    const timedOut = outcome({ responseStatus: null, error: 'timeout' });
    expect(
      await deliver(
        fakeSender(() => timedOut),
        deliverRequest(event, { nextDelay: 300_000 }),
      ),
    ).toEqual({
      status: 'pending',
      reason: null,
      attemptCount: 1,
      lastOutcome: 'timeout',
      wait: 300_000,
    });
  });

  it('returns the recorded attempt and sends nothing when it runs again', async () => {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(503)),
      deliverRequest(event, { nextDelay: 300_000 }),
    );
    const sender = fakeSender();
    const again = await deliver(sender, deliverRequest(event, { nextDelay: 300_000 }));
    expect(again).toMatchObject({ status: 'pending', attemptCount: 1, lastOutcome: '503' });
    expect(again.wait).toBeGreaterThan(290_000);
    expect(again.wait).toBeLessThanOrEqual(300_000);
    expect(sender.sent).toEqual([]);
  });

  it('waits while another process makes this attempt, and makes it when that process has died', async () => {
    const event = await commitEvent(db);
    const sender = fakeSender();
    const first = await deliver(sender, deliverRequest(event)).catch((error: ApplicationFailure) => error);
    expect(first).toBeInstanceOf(ApplicationFailure);
    expect(first).toMatchObject({ type: 'AttemptUnderWay', nonRetryable: false });
    expect(sender.sent).toEqual([]);
    await expireLeases(db);
    expect(await deliver(sender, deliverRequest(event))).toMatchObject({ status: 'succeeded' });
  });

  it('makes an attempt once when eight workers ask for it at the same moment', async () => {
    const event = await free();
    const sender = fakeSender();
    await Promise.allSettled(Array.from({ length: 8 }, () => deliver(sender, deliverRequest(event))));
    expect(sender.sent).toHaveLength(1);
    expect(await read(event)).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  it('ends without an attempt when the delivery belongs to another workflow', async () => {
    const event = await free();
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: { owner: 'recover-1' } });
    const sender = fakeSender();
    expect(await deliver(sender, deliverRequest(event))).toMatchObject({
      status: 'cancelled',
      reason: 'taken over by recover-1',
    });
    expect(sender.sent).toEqual([]);
  });

  it.each([
    ['endpoint_disabled', { enabled: false, disabledReason: 'owner' }],
    ['endpoint_gone', { enabled: false, disabledReason: 'gone' }],
    ['endpoint_deleted', { deletedAt: new Date(), secretEnvelope: null }],
  ])('cancels a delivery whose endpoint takes no deliveries: %s', async (reason, data) => {
    const event = await free();
    await db.prisma.endpoint.update({ where: { id: event.deliveries[0]!.endpointId }, data });
    const sender = fakeSender();
    expect(await deliver(sender, deliverRequest(event))).toMatchObject({ status: 'cancelled', reason });
    expect(await read(event)).toMatchObject({ status: 'cancelled', reason, finishedAt: expect.any(Date) });
    expect(sender.sent).toEqual([]);
  });

  it('cancels its own delivery alone while the backlog of an inactive endpoint is being cancelled', async () => {
    const event = await free();
    const [{ endpointId }] = event.deliveries as [CommittedEvent['deliveries'][0]];
    await makeBacklog(db, endpointId, 3);
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { enabled: false, disabledReason: 'failing' } });
    const sender = fakeSender();
    expect(await deliver(sender, deliverRequest(event))).toMatchObject({
      status: 'cancelled',
      reason: 'endpoint_disabled',
    });
    expect(await countDeliveries(db, endpointId)).toEqual({ endpoint_disabled: 1, pending: 3 });
    expect(sender.sent).toEqual([]);
  });

  it('returns the state of a delivery that has ended', async () => {
    const event = await free();
    const cancelled = { status: 'cancelled', reason: 'endpoint_disabled' } as const;
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: cancelled });
    expect(await deliver(fakeSender(), deliverRequest(event))).toMatchObject(cancelled);
  });

  it('ends when retention has removed the delivery', async () => {
    const event = await free();
    await db.prisma.delivery.delete({ where: { id: event.deliveries[0]!.deliveryId } });
    expect(await deliver(fakeSender(), deliverRequest(event))).toMatchObject({
      status: 'cancelled',
      reason: 'removed',
    });
  });

  it('throws and sends nothing when no slot is free, so that it never waits inside a worker slot', async () => {
    const event = await free();
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    slots.tryAcquire(event.clientId, event.deliveries[0]!.endpointId);
    const sender = fakeSender();
    const failure = await deliver(sender, deliverRequest(event), { slots }).catch((error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'NoPlace', nonRetryable: false });
    expect(sender.sent).toEqual([]);
  });

  it('spreads the retries of activities that found no slot', async () => {
    const event = await free();
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    slots.tryAcquire(event.clientId, event.deliveries[0]!.endpointId);
    const refuse = deliverActivity(db, fakeSender(), { slots });
    const delays: number[] = [];
    for (let i = 0; i < 500; i++) {
      const failure = await refuse(deliverRequest(event)).catch((error: unknown) => error);
      delays.push(Number((failure as ApplicationFailure).nextRetryDelay));
    }
    expect(delays[0]).toBeLessThanOrEqual(1_000);
    for (let i = 400; i < 500; i++) expect(delays[i]!).toBeGreaterThan(delays[i - 200]!);
  });

  it('releases its slot when it fails', async () => {
    const event = await free();
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 1, total: 1 });
    const broken = fakeSender(() => Promise.reject(new Error('our own fault')));
    await expect(deliver(broken, deliverRequest(event), { slots })).rejects.toThrow('our own fault');
    expect(slots.active).toBe(0);
  });

  it('makes one manual attempt at a delivery that has ended', async () => {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(500)),
      deliverRequest(event, { nextDelay: null }),
    );
    const single = { number: 2, trigger: 'manual', single: true, nextDelay: null } as const;
    expect(await deliver(fakeSender(), deliverRequest(event, single))).toMatchObject({
      status: 'succeeded',
      attemptCount: 2,
    });
  });
});

describe('an endpoint that fails for DISABLE_AFTER', () => {
  const HOUR = 3_600_000;

  /** Exhausts a delivery to the client's endpoint, created `ago` ms ago. */
  async function exhaust(clientId: string | undefined, ago: number): Promise<CommittedEvent> {
    const event = await commitEvent(db, { leases: false, ...(clientId ? { clientId, endpoints: 0 } : {}) });
    const createdAt = new Date(Date.now() - ago);
    await db.prisma.endpoint.updateMany({
      where: { clientId: event.clientId },
      data: { enabledAt: new Date(Date.now() - 500 * HOUR) },
    });
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: { createdAt } });
    await deliver(
      fakeSender(() => refusedBy(503)),
      deliverRequest(event, { nextDelay: null }),
      { disableAfter: 120 * HOUR },
    );
    return event;
  }
  const endpointOf = (event: CommittedEvent) =>
    db.prisma.endpoint.findUniqueOrThrow({ where: { id: event.deliveries[0]!.endpointId } });

  it('is disabled with the second exhausted delivery', async () => {
    const first = await exhaust(undefined, 130 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });

  it('stays enabled while its failures are younger than DISABLE_AFTER', async () => {
    const first = await exhaust(undefined, 100 * HOUR);
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
  });

  it('stays enabled when a delivery succeeded in between', async () => {
    const first = await exhaust(undefined, 130 * HOUR);
    const good = await commitEvent(db, { leases: false, clientId: first.clientId, endpoints: 0 });
    await deliver(fakeSender(), deliverRequest(good));
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
  });
});
