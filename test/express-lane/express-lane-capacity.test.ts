import { jest } from '@jest/globals';
import { disableEndpoint } from '../../src/webhooks/disable-endpoint.js';
import { enabledNow } from '../../src/webhooks/endpoints.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expireLeases } from '../support/expire-leases.js';
import { createTestLanes } from '../support/express-lane.js';
import { fakeSender, makeClient } from '../support/factories.js';
import { heldSender } from '../support/held-receiver.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let lanes: ReturnType<typeof createTestLanes>;
beforeAll(async () => {
  db = await createTestDatabase();
  lanes = createTestLanes(db);
});
afterEach(() => lanes.stop());
afterAll(() => db.drop());

describe('the capacity of the express lane', () => {
  it('keeps capacity for other clients while one client floods the lane', async () => {
    const { sender, release } = heldSender();
    const { lane } = lanes.open(sender, { capacity: 4, limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const flood = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 5; i++) flood.push(await commitEvent(db, { clientId, endpoints: 0 }));
    // One attempt is in flight and two jobs wait; no client may have more jobs waiting than the capacity left.
    expect(flood.map((event) => lane.accept(event, performance.now()))).toEqual([true, true, true, false, false]);
    expect(lane.accept(await commitEvent(db), performance.now())).toBe(true);
    release();
  });

  it("reads a saturated client's events from the table again once half of its attempts are made", async () => {
    const { sender, release } = heldSender();
    const { lane, sweep } = lanes.open(sender, { capacity: 4, limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const flood = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 6; i++) flood.push(await commitEvent(db, { clientId, endpoints: 0 }));
    await expireLeases(db);
    sweep.now();
    const waits = () => db.prisma.event.findMany({ where: { outbox: 'attempt', leaseUntil: { lte: new Date() } } });
    await waitFor('the lane to be full', async () => lane.saturated.includes(clientId) && (await waits()).length === 3);
    const before = await waits();
    await commitEvent(db, { leases: false });
    sweep.now();
    await waitFor("another client's event", () => sender.sent.length === 2);
    // The leases are unchanged too: no event was leased and returned.
    expect(await waits()).toEqual(before);
    release();
    await waitFor('all events to be sent', () => {
      sweep.now();
      return sender.sent.length === flood.length + 1;
    });
  });

  it('hands a job over to the workflow when it waits too long for a slow receiver', async () => {
    const { sender, release } = heldSender();
    const { lane, due } = lanes.open(sender, { limits: { perEndpoint: 1, perClient: 5, total: 9 } });
    const clientId = await makeClient(db);
    const first = await commitEvent(db, { clientId });
    const second = await commitEvent(db, { clientId, endpoints: 0 });
    lane.committed(first);
    lane.committed(second);
    const { outbox, deliveries } = await lanes.settled(second.eventId);
    expect({ outbox, deliveries }).toMatchObject({
      outbox: 'start',
      deliveries: [{ attemptCount: 0 }],
    });
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(due).toEqual([{ eventId: second.eventId, urgent: true }]);
    release();
    expect(await lanes.settled(first.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
  });

  it('leaves an event in the table when it has no capacity, and the sweep reads it later', async () => {
    const { lane, sweep } = lanes.open(fakeSender(), { capacity: 0 });
    const event = await commitEvent(db);
    lane.committed(event);
    await waitFor('the lease to end', async () => (await lanes.readEvent(event.eventId)).leaseUntil <= new Date());
    await sweep.stop();
    const later = lanes.open(fakeSender());
    await waitFor('the event to be taken', async () => {
      later.sweep.now();
      return (await lanes.readEvent(event.eventId)).outbox === 'trailing';
    });
  });

  it('returns waiting jobs to the queue when it stops, and finishes attempts in flight', async () => {
    const { sender, release } = heldSender();
    const { lane } = lanes.open(sender, { limits: { perEndpoint: 1, perClient: 1, total: 1 } });
    const [first, second] = [await commitEvent(db), await commitEvent(db)];
    lane.committed(first);
    lane.committed(second);
    await waitFor('the first attempt to be in flight', () => sender.sent.length === 1);
    const stopped = lane.stop();
    release();
    await stopped;
    expect(await lanes.readEvent(first.eventId)).toMatchObject({ deliveries: [{ status: 'succeeded' }] });
    const { outbox, leaseUntil } = await lanes.readEvent(second.eventId);
    expect([outbox, leaseUntil <= new Date()]).toEqual(['attempt', true]);
    expect(sender.sent).toHaveLength(1);
  });

  const disable = (id: string) => db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
  it.each([
    ['disabled', disable, 'cancelled'],
    [
      'disabled and enabled again',
      async (id: string) => {
        await disable(id);
        await db.prisma.endpoint.update({ where: { id }, data: enabledNow() });
      },
      'cancelled',
    ],
    // The cancellation of its backlog has not reached the delivery yet.
    [
      'disabled with a backlog',
      (id: string) => db.prisma.endpoint.update({ where: { id }, data: { enabled: false, disabledReason: 'owner' } }),
      'pending',
    ],
    [
      'deleted',
      (id: string) =>
        db.prisma.endpoint.update({ where: { id }, data: { deletedAt: new Date(), secretEnvelope: null } }),
      'pending',
    ],
  ] as const)(
    'sends nothing more to an endpoint that is %s while its deliveries wait in the lane',
    async (_, change, status) => {
      const { sender, release } = heldSender();
      const { lane } = lanes.open(sender, { limits: { perEndpoint: 1, perClient: 5, total: 9 } });
      const clientId = await makeClient(db);
      const [first, second] = [await commitEvent(db, { clientId }), await commitEvent(db, { clientId, endpoints: 0 })];
      lane.committed(first);
      lane.committed(second);
      await waitFor('the first attempt to be in flight', () => sender.sent.length === 1);
      await change(first.deliveries[0]!.endpointId);
      // An event of this moment is sent without another look.
      const clock = performance.now.bind(performance);
      const later = jest.spyOn(performance, 'now').mockImplementation(() => clock() + 20);
      try {
        release();
        const { deliveries } = await lanes.settled(second.eventId);
        expect(deliveries).toMatchObject([{ status, attemptCount: 0 }]);
        expect(sender.sent).toHaveLength(1);
      } finally {
        later.mockRestore();
      }
    },
  );
});
