import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expireLeases } from '../support/expire-leases.js';
import { createTestLanes } from '../support/express-lane.js';
import { fakeSender, makeClient } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let lanes: ReturnType<typeof createTestLanes>;
beforeAll(async () => {
  db = await createTestDatabase();
  lanes = createTestLanes(db);
});
afterEach(() => lanes.stop());
afterAll(() => db.drop());

describe('the sweep', () => {
  it("reads a client's backlog from the table without a pause between batches", async () => {
    const sender = fakeSender();
    const { sweep } = lanes.open(sender);
    const clientId = await makeClient(db);
    const events = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 120; i++) events.push(await commitEvent(db, { clientId, endpoints: 0 }));
    await expireLeases(db);
    sweep.now();
    await waitFor('all events to be sent', () => sender.sent.length === events.length);
  });

  it('leases an event when the process that committed it died before attempt 1, once the lease expires', async () => {
    const event = await commitEvent(db);
    const sender = fakeSender();
    const { sweep } = lanes.open(sender);
    sweep.now();
    await sweep.stop();
    expect(sender.sent).toHaveLength(0); // the dead process still holds the lease

    await expireLeases(db);
    const next = lanes.open(sender);
    next.sweep.now();
    expect(await lanes.settled(event.eventId)).toMatchObject({
      outbox: 'trailing',
      deliveries: [{ status: 'succeeded' }],
    });
    expect(sender.sent).toHaveLength(1);
  });

  it('finds an event without a notification, also when the table was empty before', async () => {
    const sender = fakeSender();
    const { sweep } = lanes.open(sender);
    sweep.start();
    const event = await commitEvent(db, { leases: false });
    expect(await lanes.settled(event.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
  });

  it('attempts only the second endpoint when attempt 1 at the first was recorded before the crash', async () => {
    const event = await commitEvent(db, { endpoints: 2 });
    const [done, open] = event.deliveries;
    await db.prisma.delivery.update({
      where: { id: done!.deliveryId },
      data: { status: 'succeeded', attemptCount: 1, nextAttemptAt: null, attemptingUntil: null },
    });
    await expireLeases(db);
    const sender = fakeSender();
    const { sweep } = lanes.open(sender);
    sweep.now();
    await lanes.settled(event.eventId);
    expect(sender.sent).toHaveLength(1);
    const delivery = await db.prisma.delivery.findUniqueOrThrow({ where: { id: open!.deliveryId } });
    expect(delivery).toMatchObject({ status: 'succeeded', attemptCount: 1 });
  });

  it('hands over the retry of a worker that died, although every other first attempt succeeds', async () => {
    const event = await commitEvent(db, { endpoints: 2 });
    await db.prisma.delivery.update({
      where: { id: event.deliveries[0]!.deliveryId },
      data: { attemptCount: 1, nextAttemptAt: new Date() },
    });
    await expireLeases(db);
    const { sweep, due } = lanes.open(fakeSender(), { workflows: 'retries-only' });
    sweep.now();
    const { outbox, deliveries } = await lanes.settled(event.eventId);
    expect([outbox, ...deliveries.map(({ status }) => status).sort()]).toEqual(['start', 'pending', 'succeeded']);
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(due).toEqual([{ eventId: event.eventId, urgent: true }]);
  });

  it('repeats no attempt when the process died between the last record and the handover to the starter', async () => {
    const event = await commitEvent(db);
    await db.prisma.delivery.update({
      where: { id: event.deliveries[0]!.deliveryId },
      data: { attemptCount: 1, attemptingUntil: null },
    });
    await expireLeases(db);
    const sender = fakeSender();
    const { sweep, due } = lanes.open(sender);
    sweep.now();
    expect(await lanes.settled(event.eventId)).toMatchObject({ outbox: 'start' });
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(sender.sent).toHaveLength(0);
  });

  it('makes each first attempt once when two workers sweep at the same moment', async () => {
    const events = [];
    for (let i = 0; i < 30; i++) events.push(await commitEvent(db, { leases: false }));
    const sender = fakeSender();
    const [a, b] = [lanes.open(sender), lanes.open(sender)];
    a.sweep.now();
    b.sweep.now();
    for (const event of events) await lanes.settled(event.eventId);
    expect(sender.sent).toHaveLength(30);
    expect(new Set(sender.sent.map(({ body }) => body)).size).toBe(30);
  });
});
