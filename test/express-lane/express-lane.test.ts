import { jest } from '@jest/globals';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import { ExpressLane, type LaneOptions } from '../../src/express-lane/express-lane.js';
import type { LaneJob } from '../../src/express-lane/lane-event.js';
import { Sweep } from '../../src/express-lane/sweep.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { disableEndpoint } from '../../src/webhooks/disable-endpoint.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
import { commitEvent, expireLeases } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ENDPOINT_SECRET, fakeSender, makeClient, masterKeys, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
const lanes: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  db = await createTestDatabase();
});
afterEach(async () => {
  for (const lane of lanes.splice(0)) await lane.stop();
  await db.query(`update events set outbox = 'done'`, []);
});
afterAll(() => db.drop());

function openLane(
  sender: Sender,
  options: Partial<LaneOptions> & { limits?: ConstructorParameters<typeof AttemptSlots>[0] } = {},
) {
  const ready: { eventId: string; urgent: boolean }[] = [];
  const recorder = new Recorder(db, silentLog);
  const onDue = ({ eventId }: { eventId: string }, urgent: boolean) => ready.push({ eventId, urgent });
  const lane = new ExpressLane({
    db,
    slots: new AttemptSlots<LaneJob>(options.limits ?? { perEndpoint: 10, perClient: 20, total: 50 }),
    attempts: { database: db, masterKeys, sender, recorder, disableAfter: 0, metrics: createMetrics(), log: silentLog },
    retryDelays: [0, 300_000],
    workflows: 'every-event',
    capacity: 1_000,
    onDue,
    log: silentLog,
    ...options,
  });
  const sweep = new Sweep({ db, lane, recorder, onDue, log: silentLog });
  lanes.push(sweep, lane);
  return { lane, sweep, ready };
}

/** A receiver that answers nobody before it is let go. */
function heldSender() {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const sender = fakeSender(async () => {
    await held;
    return outcome();
  });
  return { sender, release };
}

const readEvent = (id: string) =>
  db.prisma.event.findUniqueOrThrow({ where: { id }, include: { deliveries: { include: { attempts: true } } } });
const settled = (id: string) =>
  waitFor('the event to be settled', async () => {
    const event = await readEvent(id);
    return event.outbox !== 'attempt' && event;
  });

describe('the express lane', () => {
  it('makes the first attempts at once, signed with the secret of each endpoint, and passes the event on once', async () => {
    const sender = fakeSender();
    const { lane, ready } = openLane(sender);
    const event = await commitEvent(db, { endpoints: 2 });
    lane.committed(event);
    const { outbox, deliveries } = await settled(event.eventId);
    expect(outbox).toBe('start');
    expect(deliveries.map(({ status, attempts }) => [status, attempts.length])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect(sender.sent.map(({ body, secret }) => [body, secret.reveal()])).toEqual([
      [event.body, ENDPOINT_SECRET],
      [event.body, ENDPOINT_SECRET],
    ]);
    await waitFor('the starter to be told', () => ready.length > 0);
    expect(ready).toEqual([{ eventId: event.eventId, urgent: false }]);
  });

  it('needs no workflow for what was delivered everywhere where WORKFLOWS=retries-only', async () => {
    const { lane, ready } = openLane(fakeSender(), { workflows: 'retries-only' });
    const event = await commitEvent(db);
    lane.committed(event);
    expect(await settled(event.eventId)).toMatchObject({ outbox: 'done' });
    expect(ready).toEqual([]);
  });

  it('hands a failure to the workflow at once and keeps the lease for that', async () => {
    const { lane, ready } = openLane(
      fakeSender(() => refusedBy(503)),
      { workflows: 'retries-only' },
    );
    const event = await commitEvent(db);
    lane.committed(event);
    const { outbox, leaseUntil, deliveries } = await settled(event.eventId);
    expect({ outbox, deliveries }).toMatchObject({
      outbox: 'start',
      deliveries: [{ status: 'pending', attemptCount: 1 }],
    });
    expect(leaseUntil.getTime()).toBeGreaterThan(Date.now() + 5_000);
    await waitFor('the starter to be told', () => ready.length > 0);
    expect(ready).toEqual([{ eventId: event.eventId, urgent: true }]);
  });

  it('disables the endpoint on 410 and cancels its other deliveries', async () => {
    const { lane } = openLane(fakeSender(() => refusedBy(410)));
    const clientId = await makeClient(db);
    const event = await commitEvent(db, { clientId });
    const other = await commitEvent(db, { clientId, endpoints: 0 });
    lane.committed(event);
    const { deliveries } = await settled(event.eventId);
    expect(deliveries).toMatchObject([{ status: 'failed', reason: 'endpoint_gone', attemptCount: 1 }]);
    const cancelled = await waitFor('the other to be cancelled', async () => {
      const [delivery] = (await readEvent(other.eventId)).deliveries;
      return delivery?.status === 'cancelled' && delivery;
    });
    expect(cancelled).toMatchObject({ reason: 'endpoint_gone' });
    const endpoint = await db.prisma.endpoint.findUniqueOrThrow({ where: { id: event.deliveries[0]!.endpointId } });
    expect(endpoint).toMatchObject({ enabled: false, disabledReason: 'gone' });
  });

  it('has the endpoint disabled before a 410 is recorded: who sees the one sees the other, whenever a process dies', async () => {
    const recorder = new Recorder(db, silentLog);
    const record = recorder.record.bind(recorder);
    const event = await commitEvent(db);
    const readEndpoint = () =>
      db.prisma.endpoint.findUniqueOrThrow({
        where: { id: event.deliveries[0]!.endpointId },
        select: { enabled: true },
      });
    const seen: unknown[] = [];
    recorder.record = async (...given) => {
      seen.push(await readEndpoint());
      return record(...given);
    };
    const sender = fakeSender(() => refusedBy(410));
    const attempts = { database: db, masterKeys, sender, recorder, disableAfter: 0, metrics: createMetrics() };
    const { lane } = openLane(sender, { attempts: { ...attempts, log: silentLog } });
    lane.committed(event);
    expect(await settled(event.eventId)).toMatchObject({ deliveries: [{ status: 'failed' }] });
    expect(seen).toEqual([{ enabled: false }]);
  });

  it('disables the endpoint of a 410 all the same where Postgres was away at first', async () => {
    const { lane } = openLane(fakeSender(() => refusedBy(410)));
    const event = await commitEvent(db);
    const transaction = jest.spyOn(db, 'transaction').mockRejectedValueOnce(new Error('connect ECONNREFUSED'));
    lane.committed(event);
    await waitFor('the endpoint to be disabled', async () => {
      const { endpointId: id } = event.deliveries[0]!;
      return !(await db.prisma.endpoint.findUniqueOrThrow({ where: { id } })).enabled;
    });
    expect(transaction).toHaveBeenCalledTimes(2);
    transaction.mockRestore();
  });

  it('a burst of 410 deadlocks no transactions: each attempt is recorded, and the endpoint is disabled once', async () => {
    const { lane } = openLane(fakeSender(() => refusedBy(410)));
    const transaction = jest.spyOn(db, 'transaction');
    const clientId = await makeClient(db);
    const events = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 10; i++) events.push(await commitEvent(db, { clientId, endpoints: 0 }));
    for (const event of events) lane.committed(event);
    for (const event of events) {
      const { deliveries } = await settled(event.eventId);
      expect(deliveries).toMatchObject([{ status: 'failed', attemptCount: 1, reason: 'endpoint_gone' }]);
      expect(deliveries[0]?.attempts).toHaveLength(1);
    }
    const faults = await Promise.allSettled(transaction.mock.results.map(({ value }) => value));
    expect(faults.filter(({ status }) => status === 'rejected')).toEqual([]);
    transaction.mockRestore();
  });

  it("one client's flood leaves room in memory for another's events", async () => {
    const { sender, release } = heldSender();
    const { lane } = openLane(sender, { capacity: 4, limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const flood = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 5; i++) flood.push(await commitEvent(db, { clientId, endpoints: 0 }));
    // One under way, two wait; then as many wait as there is room left.
    expect(flood.map((event) => lane.accept(event))).toEqual([true, true, true, false, false]);
    expect(lane.accept(await commitEvent(db))).toBe(true);
    release();
  });

  it('takes nothing from the table for a client that found no room until half of that is made, and then the rest', async () => {
    const { sender, release } = heldSender();
    const { lane, sweep } = openLane(sender, { capacity: 4, limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const flood = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 6; i++) flood.push(await commitEvent(db, { clientId, endpoints: 0 }));
    await expireLeases(db);
    sweep.now();
    const waits = () => db.prisma.event.findMany({ where: { outbox: 'attempt', leaseUntil: { lte: new Date() } } });
    await waitFor('the lane to be full', async () => lane.saturated.includes(clientId) && (await waits()).length === 3);
    const before = await waits();
    await commitEvent(db, { claims: false });
    sweep.now();
    await waitFor('the event of another', () => sender.sent.length === 2);
    // Their leases too: none was taken and given back.
    expect(await waits()).toEqual(before);
    release();
    await waitFor('all of them', () => {
      sweep.now();
      return sender.sent.length === flood.length + 1;
    });
  });

  it("a client's backlog is taken from the table without a pause, and not fifty a second", async () => {
    const sender = fakeSender();
    const { sweep } = openLane(sender);
    const clientId = await makeClient(db);
    const events = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 120; i++) events.push(await commitEvent(db, { clientId, endpoints: 0 }));
    await expireLeases(db);
    sweep.now();
    await waitFor('all of them', () => sender.sent.length === events.length);
  });

  it('leaves what waits too long for a slow receiver to the workflow, with its claim given back', async () => {
    const { sender, release } = heldSender();
    const { lane, ready } = openLane(sender, { limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const first = await commitEvent(db, { clientId });
    const second = await commitEvent(db, { clientId, endpoints: 0 });
    lane.committed(first);
    lane.committed(second);
    const { outbox, deliveries } = await settled(second.eventId);
    expect({ outbox, deliveries }).toMatchObject({
      outbox: 'start',
      deliveries: [{ attemptCount: 0, attemptingUntil: null }],
    });
    await waitFor('the starter to be told', () => ready.length > 0);
    expect(ready).toEqual([{ eventId: second.eventId, urgent: true }]);
    release();
    expect(await settled(first.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
  });

  it('lets what it has no room for wait in the table, and the sweep brings it back', async () => {
    const { lane, sweep } = openLane(fakeSender(), { capacity: 0 });
    const event = await commitEvent(db);
    lane.committed(event);
    await waitFor('the claim to be given back', async () => {
      const { deliveries } = await readEvent(event.eventId);
      return deliveries[0]!.attemptingUntil === null;
    });
    await sweep.stop();
    const later = openLane(fakeSender());
    await waitFor('the event to be taken', async () => {
      later.sweep.now();
      return (await readEvent(event.eventId)).outbox === 'start';
    });
  });

  it('gives back what waits when it stops, and finishes what runs', async () => {
    const { sender, release } = heldSender();
    const { lane } = openLane(sender, { limits: { perEndpoint: 1, perClient: 1, total: 1 } });
    const [first, second] = [await commitEvent(db), await commitEvent(db)];
    lane.committed(first);
    lane.committed(second);
    const stopped = lane.stop();
    release();
    await stopped;
    expect(await readEvent(first.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
    expect(await readEvent(second.eventId)).toMatchObject({
      outbox: 'attempt',
      deliveries: [{ attemptingUntil: null }],
    });
    expect(sender.sent).toHaveLength(1);
  });

  it('sends nothing more to an endpoint that was disabled while its deliveries waited here', async () => {
    const { sender, release } = heldSender();
    const { lane } = openLane(sender, { limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const [first, second] = [await commitEvent(db, { clientId }), await commitEvent(db, { clientId, endpoints: 0 })];
    lane.committed(first);
    lane.committed(second);
    await db.transaction((tx) => disableEndpoint(tx, first.deliveries[0]!.endpointId, 'owner'));
    const clock = performance.now.bind(performance);
    const later = jest.spyOn(performance, 'now').mockImplementation(() => clock() + 1_500);
    try {
      release();
      const { deliveries } = await settled(second.eventId);
      expect(deliveries).toMatchObject([{ status: 'cancelled', reason: 'endpoint_disabled', attemptCount: 0 }]);
      expect(sender.sent).toHaveLength(1);
    } finally {
      later.mockRestore();
    }
  });

  it('leaves an attempt that it cannot even sign to the workflow, where an operator sees why', async () => {
    const sender = fakeSender();
    const { lane, ready } = openLane(sender);
    const event = await commitEvent(db);
    const [delivery] = event.deliveries;
    lane.committed({ ...event, deliveries: [{ ...delivery!, secretEnvelope: 'v1:00000000:AAAA' }] });
    expect(await settled(event.eventId)).toMatchObject({
      outbox: 'start',
      deliveries: [{ attemptCount: 0, attemptingUntil: null }],
    });
    await waitFor('the starter to be told', () => ready.length > 0);
    expect(sender.sent).toHaveLength(0);
  });
});

describe('a crash loses nothing', () => {
  it('between the commit and attempt 1: the sweep takes the event when its lease has run out', async () => {
    const event = await commitEvent(db);
    const sender = fakeSender();
    const { sweep } = openLane(sender);
    sweep.now();
    await sweep.stop();
    expect(sender.sent).toHaveLength(0); // still leased to the process that died

    await expireLeases(db);
    const next = openLane(sender);
    next.sweep.now();
    expect(await settled(event.eventId)).toMatchObject({ outbox: 'start', deliveries: [{ status: 'succeeded' }] });
    expect(sender.sent).toHaveLength(1);
  });

  it('after attempt 1 was recorded for one of two endpoints: only the other is attempted again', async () => {
    const event = await commitEvent(db, { endpoints: 2 });
    const [done, open] = event.deliveries;
    await db.prisma.delivery.update({
      where: { id: done!.deliveryId },
      data: { status: 'succeeded', attemptCount: 1, nextAttemptAt: null, attemptingUntil: null },
    });
    await expireLeases(db);
    const sender = fakeSender();
    const { sweep } = openLane(sender);
    sweep.now();
    await settled(event.eventId);
    expect(sender.sent).toHaveLength(1);
    const delivery = await db.prisma.delivery.findUniqueOrThrow({ where: { id: open!.deliveryId } });
    expect(delivery).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  it('after every attempt was recorded, before the event was passed on: no attempt is repeated', async () => {
    const event = await commitEvent(db);
    await db.prisma.delivery.update({
      where: { id: event.deliveries[0]!.deliveryId },
      data: { attemptCount: 1, attemptingUntil: null },
    });
    await expireLeases(db);
    const sender = fakeSender();
    const { sweep, ready } = openLane(sender);
    sweep.now();
    expect(await settled(event.eventId)).toMatchObject({ outbox: 'start' });
    await waitFor('the starter to be told', () => ready.length > 0);
    expect(sender.sent).toHaveLength(0);
  });

  it('two workers that sweep at the same moment make each first attempt once', async () => {
    const events = [];
    for (let i = 0; i < 30; i++) events.push(await commitEvent(db, { claims: false }));
    const sender = fakeSender();
    const [a, b] = [openLane(sender), openLane(sender)];
    a.sweep.now();
    b.sweep.now();
    for (const event of events) await settled(event.eventId);
    expect(sender.sent).toHaveLength(30);
    expect(new Set(sender.sent.map(({ body }) => body)).size).toBe(30);
  });
});
