import '../support/quiet-temporal.js';
import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/deliver.js';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import type { Log } from '../../src/telemetry/log.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
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

interface Options {
  disableAfter?: number;
  slots?: AttemptSlots<unknown>;
  startOwner?: (deliveryId: string) => Promise<void>;
  log?: Log;
}

function activities(sender: Sender, options: Options = {}) {
  const { slots = new AttemptSlots({ perEndpoint: 10, perClient: 10, total: 10 }), disableAfter = 0 } = options;
  const recorder = new Recorder(db, silentLog);
  return createActivities({
    database: db,
    masterKeys,
    sender,
    recorder,
    disableAfter,
    metrics: createMetrics(),
    log: options.log ?? silentLog,
    slots,
    inFlight: { arrived: () => undefined },
    startOwner: options.startOwner ?? (async () => undefined),
  });
}

function deliver(sender: Sender, request: DeliverRequest, options: Options = {}): Promise<DeliverOutcome> {
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
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    slots.tryAcquire(event.clientId, event.deliveries[0]!.endpointId);
    const sender = fakeSender();
    const failure = await deliver(sender, request(event), { slots }).catch((error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'NoPlace', nonRetryable: false });
    expect(sender.sent).toEqual([]);
  });

  it('lets a crowd that finds no place come back in turn, and not all at once', async () => {
    const event = await free();
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 9, total: 9 });
    slots.tryAcquire(event.clientId, event.deliveries[0]!.endpointId);
    const { deliver: refuse } = activities(fakeSender(), { slots });
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
    const slots = new AttemptSlots<unknown>({ perEndpoint: 1, perClient: 1, total: 1 });
    const broken = fakeSender(() => Promise.reject(new Error('our own fault')));
    await expect(deliver(broken, request(event), { slots })).rejects.toThrow('our own fault');
    expect(slots.active).toBe(0);
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

describe('the activity deliver after Postgres was set back', () => {
  const idOf = (event: CommittedEvent) => event.deliveries[0]!.deliveryId;
  const setRow = (event: CommittedEvent, data: Parameters<typeof db.prisma.delivery.update>[0]['data']) =>
    db.prisma.delivery.update({ where: { id: idOf(event) }, data });
  /** An event whose first attempt is recorded as failed, the second planned in `wait` ms. */
  async function failedOnce(wait: number | null): Promise<CommittedEvent> {
    const event = await free();
    await deliver(
      fakeSender(() => refusedBy(503)),
      request(event, { nextDelay: wait }),
    );
    return event;
  }
  /** What was logged at `warn`. */
  function warnings() {
    const lines: Record<string, unknown>[] = [];
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
      warn: (line: Record<string, unknown>) => void lines.push(line),
    });
    return { lines, log };
  }

  it('answers where a row behind its workflow stands, names it in the log, and sends nothing', async () => {
    const event = await failedOnce(120_000);
    const sender = fakeSender();
    const { lines, log } = warnings();
    const asked = request(event, { eventId: event.eventId, number: 4, nextDelay: 1_800_000 });
    const outcome = await deliver(sender, asked, { log });
    expect(outcome).toMatchObject({ status: 'pending', reason: null, attemptCount: 1, lastOutcome: '503' });
    expect(outcome.wait).toBeGreaterThan(110_000);
    expect(outcome.wait).toBeLessThanOrEqual(120_000);
    expect(sender.sent).toEqual([]);
    expect(lines).toMatchObject([{ event_id: event.eventId, delivery_id: idOf(event), attempt: 4, attempt_count: 1 }]);
  });

  it('goes on at once where the planned time of the row is past, and after the claim where one was restored with it', async () => {
    const event = await failedOnce(0);
    expect(await deliver(fakeSender(), request(event, { number: 3 }))).toMatchObject({ attemptCount: 1, wait: 0 });
    await setRow(event, { attemptingUntil: new Date(Date.now() + 20_000) });
    const { wait } = await deliver(fakeSender(), request(event, { number: 3 }));
    expect(wait).toBeGreaterThan(15_000);
    expect(wait).toBeLessThanOrEqual(20_100);
  });

  it('answers the count of a row that is ahead without a record of the attempt', async () => {
    const event = await free();
    await setRow(event, { attemptCount: 5, attemptingUntil: null, nextAttemptAt: new Date(Date.now() + 60_000) });
    const outcome = await deliver(fakeSender(), request(event, { number: 3 }));
    expect(outcome).toMatchObject({ status: 'pending', attemptCount: 5, lastOutcome: null });
    expect(outcome.wait).toBeGreaterThan(50_000);
  });

  it('lets a claim run out that a clock far ahead of this one has made', async () => {
    const event = await free();
    await setRow(event, { attemptingUntil: new Date(Date.now() + 3_600_000) });
    expect(await deliver(fakeSender(), request(event))).toMatchObject({ status: 'succeeded' });
  });

  it('ends the workflow of a recovery that the row no longer knows, and starts the one that the row names', async () => {
    const event = await failedOnce(0);
    const started: string[] = [];
    const startOwner = async (id: string) => void started.push(id);
    const recovered = request(event, { number: 7, owner: `recover-${idOf(event)}-6`, trigger: 'recover' });
    const { lines, log } = warnings();
    expect(await deliver(fakeSender(), recovered, { startOwner, log })).toMatchObject({ status: 'cancelled' });
    expect(started).toEqual([idOf(event)]);
    expect(lines).toMatchObject([{ delivery_id: idOf(event), owner: null }]);
    await setRow(event, { status: 'failed', reason: 'exhausted' });
    await deliver(fakeSender(), recovered, { startOwner });
    expect(started).toHaveLength(1);
  });

  it('starts no workflow where a recovery has taken the delivery over', async () => {
    const event = await free();
    await setRow(event, { owner: `recover-${idOf(event)}-0` });
    const startOwner = () => Promise.reject(new Error('not to be started'));
    expect(await deliver(fakeSender(), request(event), { startOwner })).toMatchObject({ status: 'cancelled' });
  });

  it('answers a retry by hand where the row of the ended delivery stands', async () => {
    const event = await failedOnce(null);
    const sender = fakeSender();
    const single = { trigger: 'manual', single: true, nextDelay: null } as const;
    expect(await deliver(sender, request(event, { ...single, number: 4 }))).toMatchObject({
      status: 'failed',
      attemptCount: 1,
      wait: null,
    });
    expect(sender.sent).toEqual([]);
    expect(await deliver(sender, request(event, { ...single, number: 2 }))).toMatchObject({ status: 'succeeded' });
  });

  it('leaves a delivery that is pending again to its ladder when a retry by hand finds it', async () => {
    const event = await failedOnce(300_000);
    const started: string[] = [];
    const startOwner = async (id: string) => void started.push(id);
    const sender = fakeSender();
    for (const number of [2, 5]) {
      const single = request(event, { number, trigger: 'manual', single: true, nextDelay: null });
      expect(await deliver(sender, single, { startOwner })).toMatchObject({ status: 'pending', attemptCount: 1 });
    }
    expect(started).toEqual([idOf(event), idOf(event)]);
    expect(sender.sent).toEqual([]);
    expect(await read(event)).toMatchObject({ status: 'pending', attemptCount: 1 });
  });

  it('names a delivery that is gone in the log', async () => {
    const event = await free();
    await db.prisma.delivery.delete({ where: { id: idOf(event) } });
    const { lines, log } = warnings();
    await deliver(fakeSender(), request(event, { eventId: event.eventId }), { log });
    expect(lines).toMatchObject([{ event_id: event.eventId, delivery_id: idOf(event) }]);
  });

  it('waits no longer than a lease for the claim of another process', async () => {
    const event = await free();
    await setRow(event, { attemptingUntil: new Date(Date.now() + 55_000) });
    const failure = await deliver(fakeSender(), request(event)).catch((error: ApplicationFailure) => error);
    expect(failure).toMatchObject({ type: 'AttemptUnderWay', nextRetryDelay: 30_100 });
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
