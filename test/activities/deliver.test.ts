import '../support/quiet-temporal.js';
import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/deliver.js';
import { FairQueue } from '../../src/outbox/fair-queue.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { Recorder } from '../../src/outbox/recorder.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import type { Sender } from '../../src/webhooks/send.js';
import type { DeliverOutcome, DeliverRequest } from '../../workflows/deliver-event.activities.js';
import { commitEvent, expireLeases } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { fakeSender, masterKeys, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

function activities(sender: Sender, options: { disableAfter?: number; places?: FairQueue<unknown> } = {}) {
  const { places = new FairQueue({ perEndpoint: 10, perClient: 10, total: 10 }), disableAfter = 0 } = options;
  const recorder = new Recorder(db, silentLog);
  return createActivities({
    database: db,
    masterKeys,
    sender,
    recorder,
    disableAfter,
    metrics: createMetrics(),
    log: silentLog,
    places,
    onPlaceFree: () => undefined,
    onArrival: () => undefined,
  });
}

function deliver(sender: Sender, request: DeliverRequest, options = {}): Promise<DeliverOutcome> {
  return new MockActivityEnvironment().run(activities(sender, options).deliver, request);
}

function request(event: CommittedEvent, fields: Partial<DeliverRequest> = {}): DeliverRequest {
  const [delivery] = event.deliveries;
  return {
    deliveryId: delivery!.deliveryId,
    clientId: event.clientId,
    webhookId: delivery!.endpointId,
    number: 1,
    trigger: 'schedule',
    owner: null,
    nextDelay: 0,
    single: false,
    ...fields,
  };
}

const free = () => commitEvent(db, { claims: false });
const read = (event: CommittedEvent) =>
  db.prisma.delivery.findUniqueOrThrow({ where: { id: event.deliveries[0]!.deliveryId }, include: { attempts: true } });

describe('the activity deliver', () => {
  it('makes the attempt and answers the outcome as a value', async () => {
    const event = await free();
    const sender = fakeSender();
    expect(await deliver(sender, request(event))).toEqual({
      status: 'succeeded',
      reason: null,
      attemptCount: 1,
      lastOutcome: '204',
      wait: null,
    });
    expect(sender.sent).toMatchObject([{ body: event.body, clientId: event.clientId }]);
  });

  it("does not throw for a receiver's fault: it answers how long to wait", async () => {
    const event = await free();
    const answer = outcome({ responseStatus: null, error: 'timeout' });
    expect(
      await deliver(
        fakeSender(() => answer),
        request(event, { nextDelay: 300_000 }),
      ),
    ).toEqual({
      status: 'pending',
      reason: null,
      attemptCount: 1,
      lastOutcome: 'timeout',
      wait: 300_000,
    });
  });

  it('run again for an attempt that is recorded, answers that and sends nothing', async () => {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(503)),
      request(event, { nextDelay: 300_000 }),
    );
    const sender = fakeSender();
    const again = await deliver(sender, request(event, { nextDelay: 300_000 }));
    expect(again).toMatchObject({ status: 'pending', attemptCount: 1, lastOutcome: '503' });
    expect(again.wait).toBeGreaterThan(290_000);
    expect(again.wait).toBeLessThanOrEqual(300_000);
    expect(sender.sent).toEqual([]);
  });

  it('waits where another process makes this very attempt, and takes it when that one has died', async () => {
    const event = await commitEvent(db);
    const sender = fakeSender();
    const first = await deliver(sender, request(event)).catch((error: ApplicationFailure) => error);
    expect(first).toBeInstanceOf(ApplicationFailure);
    expect(first).toMatchObject({ type: 'AttemptUnderWay', nonRetryable: false });
    expect(sender.sent).toEqual([]);
    await expireLeases(db);
    expect(await deliver(sender, request(event))).toMatchObject({ status: 'succeeded' });
  });

  it('makes an attempt once, however many workers ask for it at the same moment', async () => {
    const event = await free();
    const sender = fakeSender();
    await Promise.allSettled(Array.from({ length: 8 }, () => deliver(sender, request(event))));
    expect(sender.sent).toHaveLength(1);
    expect(await read(event)).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  it('ends without an attempt where the delivery belongs to another workflow now', async () => {
    const event = await free();
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: { owner: 'recover-1' } });
    const sender = fakeSender();
    expect(await deliver(sender, request(event))).toMatchObject({
      status: 'cancelled',
      reason: 'taken over by recover-1',
    });
    expect(sender.sent).toEqual([]);
  });

  it.each([
    ['endpoint_disabled', { enabled: false, disabledReason: 'owner' }],
    ['endpoint_gone', { enabled: false, disabledReason: 'gone' }],
    ['endpoint_deleted', { deletedAt: new Date(), secretEnvelope: null }],
  ])('cancels a delivery that slipped through beside its endpoint: %s', async (reason, data) => {
    const event = await free();
    await db.prisma.endpoint.update({ where: { id: event.deliveries[0]!.endpointId }, data });
    const sender = fakeSender();
    expect(await deliver(sender, request(event))).toMatchObject({ status: 'cancelled', reason });
    expect(await read(event)).toMatchObject({ status: 'cancelled', reason, finishedAt: expect.any(Date) });
    expect(sender.sent).toEqual([]);
  });

  it('answers how a delivery ended that has ended', async () => {
    const event = await free();
    const cancelled = { status: 'cancelled', reason: 'endpoint_disabled' } as const;
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: cancelled });
    expect(await deliver(fakeSender(), request(event))).toMatchObject(cancelled);
  });

  it('ends for a delivery that retention has removed', async () => {
    const event = await free();
    await db.prisma.delivery.delete({ where: { id: event.deliveries[0]!.deliveryId } });
    expect(await deliver(fakeSender(), request(event))).toMatchObject({ status: 'cancelled', reason: 'removed' });
  });

  it('throws, and sends nothing, where there is no place: it never waits in a slot', async () => {
    const event = await free();
    const places = new FairQueue<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    places.tryPlace(event.clientId, event.deliveries[0]!.endpointId);
    const sender = fakeSender();
    const failure = await deliver(sender, request(event), { places }).catch((error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'NoPlace', nonRetryable: false });
    expect(sender.sent).toEqual([]);
  });

  it('lets a crowd that finds no place come back in turn, and not all at once', async () => {
    const event = await free();
    const places = new FairQueue<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    places.tryPlace(event.clientId, event.deliveries[0]!.endpointId);
    const { deliver: refuse } = activities(fakeSender(), { places });
    const delays: number[] = [];
    for (let i = 0; i < 500; i++) {
      const failure = await new MockActivityEnvironment().run(refuse, request(event)).catch((error: unknown) => error);
      delays.push(Number((failure as ApplicationFailure).nextRetryDelay));
    }
    expect(delays[0]).toBeLessThanOrEqual(1_000);
    for (let i = 400; i < 500; i++) expect(delays[i]!).toBeGreaterThan(delays[i - 200]!);
  });

  it('gives its place back when it fails', async () => {
    const event = await free();
    const places = new FairQueue<unknown>({ perEndpoint: 1, perClient: 1, total: 1 });
    const broken = fakeSender(() => Promise.reject(new Error('our own fault')));
    await expect(deliver(broken, request(event), { places })).rejects.toThrow('our own fault');
    expect(places.active).toBe(0);
  });

  it('makes one attempt by hand at a delivery that has ended', async () => {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(500)),
      request(event, { nextDelay: null }),
    );
    const single = { number: 2, trigger: 'manual', single: true, nextDelay: null } as const;
    expect(await deliver(fakeSender(), request(event, single))).toMatchObject({ status: 'succeeded', attemptCount: 2 });
  });
});

describe('an endpoint that fails for DISABLE_AFTER', () => {
  const HOUR = 3_600_000;

  /** Exhausts a delivery of the client's endpoint that was made `ago` ms ago. */
  async function exhaust(clientId: string | undefined, ago: number): Promise<CommittedEvent> {
    const event = await commitEvent(db, { claims: false, ...(clientId ? { clientId, endpoints: 0 } : {}) });
    const createdAt = new Date(Date.now() - ago);
    await db.prisma.endpoint.updateMany({
      where: { clientId: event.clientId },
      data: { enabledAt: new Date(Date.now() - 500 * HOUR) },
    });
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: { createdAt } });
    await deliver(
      fakeSender(() => refusedBy(503)),
      request(event, { nextDelay: null }),
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

  it('is not while its failures are younger than that', async () => {
    const first = await exhaust(undefined, 100 * HOUR);
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
  });

  it('is not when a delivery succeeded in between', async () => {
    const first = await exhaust(undefined, 130 * HOUR);
    const good = await commitEvent(db, { claims: false, clientId: first.clientId, endpoints: 0 });
    await deliver(fakeSender(), request(good));
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
  });
});
