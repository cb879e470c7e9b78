import { jest } from '@jest/globals';
import { Recorder } from '../../src/webhooks/recorder.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { deliverActivity, deliverRequest } from '../support/deliver-activity.js';
import { createTestAttempts, createTestLanes } from '../support/express-lane.js';
import { ENDPOINT_SECRET, fakeSender, makeClient, refusedBy } from '../support/factories.js';
import { heldSender } from '../support/held-receiver.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let lanes: ReturnType<typeof createTestLanes>;
beforeAll(async () => {
  db = await createTestDatabase();
  lanes = createTestLanes(db);
});
afterEach(() => lanes.stop());
afterAll(() => db.drop());

describe('the express lane', () => {
  it("makes the first attempts at once, signs each with its endpoint's secret, and passes the event on once", async () => {
    const sender = fakeSender();
    const { lane, due } = lanes.open(sender);
    const event = await commitEvent(db, { endpoints: 2 });
    lane.committed(event);
    const { outbox, deliveries } = await lanes.settled(event.eventId);
    expect(outbox).toBe('trailing');
    expect(deliveries.map(({ status, attempts }) => [status, attempts.length])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect(sender.sent.map((sent) => [sent.body, 'secret' in sent && sent.secret.reveal()])).toEqual([
      [event.body, ENDPOINT_SECRET],
      [event.body, ENDPOINT_SECRET],
    ]);
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(due).toEqual([{ eventId: event.eventId, urgent: false }]);
  });

  it('sends nothing before what follows the commit at once, such as the response to the change', async () => {
    const sender = fakeSender();
    const { lane } = lanes.open(sender);
    const event = await commitEvent(db);
    lane.committed(event);
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    expect(sender.sent).toEqual([]);
    await lanes.settled(event.eventId);
    expect(sender.sent).toHaveLength(1);
  });

  it('starts no workflow for an event that every endpoint received, with WORKFLOWS=retries-only', async () => {
    const { lane, due } = lanes.open(fakeSender(), { workflows: 'retries-only' });
    const event = await commitEvent(db);
    lane.committed(event);
    expect(await lanes.settled(event.eventId)).toMatchObject({ outbox: 'done' });
    expect(due).toEqual([]);
  });

  it('hands a failed attempt over to the workflow at once and keeps the lease meanwhile', async () => {
    const { lane, due } = lanes.open(
      fakeSender(() => refusedBy(503)),
      { workflows: 'retries-only' },
    );
    const event = await commitEvent(db);
    lane.committed(event);
    const { outbox, leaseUntil, deliveries } = await lanes.settled(event.eventId);
    expect({ outbox, deliveries }).toMatchObject({
      outbox: 'start',
      deliveries: [{ status: 'pending', attemptCount: 1 }],
    });
    expect(leaseUntil.getTime()).toBeGreaterThan(Date.now() + 5_000);
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(due).toEqual([{ eventId: event.eventId, urgent: true }]);
  });

  it('hands the event of a failed delivery over while another first attempt is under way', async () => {
    const { sender, release } = heldSender(2, () => refusedBy(503));
    const { lane, due } = lanes.open(sender);
    const event = await commitEvent(db, { endpoints: 2 });
    lane.committed(event);
    const left = await lanes.settled(event.eventId);
    await waitFor('the starter to be notified', () => due.length > 0);
    const [underWay] = left.deliveries.filter(({ attemptCount }) => attemptCount === 0);
    const request = deliverRequest(event, { deliveryId: underWay!.id, webhookId: underWay!.endpointId });
    const other = fakeSender();
    await expect(deliverActivity(db, other)(request)).rejects.toMatchObject({ type: 'AttemptUnderWay' });

    release();
    const { outbox, deliveries } = await waitFor('the other attempt to be recorded', async () => {
      const row = await lanes.readEvent(event.eventId);
      return row.deliveries.every(({ attemptCount }) => attemptCount === 1) && row;
    });
    expect([outbox, ...deliveries.map(({ status }) => status).sort()]).toEqual(['start', 'pending', 'succeeded']);
    expect(due).toEqual([{ eventId: event.eventId, urgent: true }]);
    expect(other.sent).toEqual([]);
  });

  it('settles that event with its last attempt when the other one cannot be claimed', async () => {
    const { sender, release } = heldSender(2, () => refusedBy(503));
    let refused = 0;
    const faulty = Object.assign(Object.create(db), {
      async query(text: string, values: unknown[]) {
        if (!text.includes('under_way')) return db.query(text, values);
        refused++;
        throw new Error('connect ECONNREFUSED');
      },
    });
    const { lane, due } = lanes.open(sender, { db: faulty });
    const event = await commitEvent(db, { endpoints: 2 });
    lane.committed(event);
    await waitFor('the claim to be refused', () => refused > 0);
    expect(await lanes.readEvent(event.eventId)).toMatchObject({ outbox: 'attempt' });
    release();
    expect(await lanes.settled(event.eventId)).toMatchObject({ outbox: 'start' });
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(due).toEqual([{ eventId: event.eventId, urgent: true }]);
  });

  it('disables the endpoint on a 410 and cancels its other deliveries', async () => {
    const { lane } = lanes.open(fakeSender(() => refusedBy(410)));
    const clientId = await makeClient(db);
    const event = await commitEvent(db, { clientId });
    const other = await commitEvent(db, { clientId, endpoints: 0 });
    lane.committed(event);
    const { deliveries } = await lanes.settled(event.eventId);
    expect(deliveries).toMatchObject([{ status: 'failed', reason: 'endpoint_gone', attemptCount: 1 }]);
    const cancelled = await waitFor('the other delivery to be cancelled', async () => {
      const [delivery] = (await lanes.readEvent(other.eventId)).deliveries;
      return delivery?.status === 'cancelled' && delivery;
    });
    expect(cancelled).toMatchObject({ reason: 'endpoint_gone' });
    const endpoint = await db.prisma.endpoint.findUniqueOrThrow({ where: { id: event.deliveries[0]!.endpointId } });
    expect(endpoint).toMatchObject({ enabled: false, disabledReason: 'gone' });
  });

  it('disables the endpoint before it records the 410, so that a crash never leaves the record alone', async () => {
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
    const { lane } = lanes.open(sender, { attempts: createTestAttempts(db, sender, recorder) });
    lane.committed(event);
    expect(await lanes.settled(event.eventId)).toMatchObject({ deliveries: [{ status: 'failed' }] });
    expect(seen).toEqual([{ enabled: false }]);
  });

  it('disables the endpoint of a 410 when Postgres is unreachable at first', async () => {
    const { lane } = lanes.open(fakeSender(() => refusedBy(410)));
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

  it('records each attempt of a burst of 410s and disables the endpoint once, with no deadlock', async () => {
    const { lane } = lanes.open(fakeSender(() => refusedBy(410)));
    const transaction = jest.spyOn(db, 'transaction');
    const clientId = await makeClient(db);
    const events = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 10; i++) events.push(await commitEvent(db, { clientId, endpoints: 0 }));
    for (const event of events) lane.committed(event);
    for (const event of events) {
      const { deliveries } = await lanes.settled(event.eventId);
      expect(deliveries).toMatchObject([{ status: 'failed', attemptCount: 1, reason: 'endpoint_gone' }]);
      expect(deliveries[0]?.attempts).toHaveLength(1);
    }
    const faults = await Promise.allSettled(transaction.mock.results.map(({ value }) => value));
    expect(faults.filter(({ status }) => status === 'rejected')).toEqual([]);
    transaction.mockRestore();
  });

  it('hands an attempt that it cannot sign over to the workflow, where an operator sees the reason', async () => {
    const sender = fakeSender();
    const { lane, due } = lanes.open(sender);
    const event = await commitEvent(db);
    const [delivery] = event.deliveries;
    lane.committed({ ...event, deliveries: [{ ...delivery!, secretEnvelope: 'v1:00000000:AAAA' }] });
    expect(await lanes.settled(event.eventId)).toMatchObject({
      outbox: 'start',
      deliveries: [{ attemptCount: 0 }],
    });
    await waitFor('the starter to be notified', () => due.length > 0);
    expect(sender.sent).toHaveLength(0);
  });
});
