import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { newId } from '../../src/ids.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { createTestLanes } from '../support/express-lane.js';
import { fakeSender } from '../support/factories.js';
import { heldSender } from '../support/held-receiver.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let lanes: ReturnType<typeof createTestLanes>;
let other: pg.Client;
beforeAll(async () => {
  db = await createTestDatabase();
  lanes = createTestLanes(db);
  other = await db.openSession();
});
afterEach(() => lanes.stop());
afterAll(() => db.drop());

describe('an event that the lane returns to the table', () => {
  it('keeps its lease until the attempt that was made is recorded, so that no other worker makes it again', async () => {
    // The second attempt takes the only slot, so that the first event's other delivery waits.
    const { sender, release } = heldSender(2);
    const { lane } = lanes.open(sender, { limits: { perEndpoint: 1, perClient: 1, total: 1 } });
    const [event, occupant] = [await commitEvent(db, { endpoints: 2 }), await commitEvent(db)];
    await other.query('begin');
    await other.query('select from deliveries where event_id = $1::uuid for no key update', [event.eventId]);
    lane.committed(event);
    lane.committed(occupant);
    await waitFor('the attempt to be made and the slot to be taken', () => sender.sent.length === 2);
    const stopped = lane.stop();
    release();

    const later = fakeSender();
    const { sweep } = lanes.open(later);
    for (let i = 0; i < 10; i++) {
      sweep.now();
      await sleep(30);
    }
    expect(later.sent).toEqual([]);
    await other.query('commit');
    await stopped;
    const { deliveries } = await waitFor('the other delivery', async () => {
      sweep.now();
      const row = await lanes.readEvent(event.eventId);
      return row.outbox === 'trailing' && row;
    });
    expect(deliveries.map(({ status, attemptCount }) => [status, attemptCount])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    const urls = [sender.sent[0]!, ...later.sent].map(({ url }) => url);
    expect(urls.sort()).toEqual(event.deliveries.map(({ url }) => url).sort());
  });

  it('is one whose lease began too long ago for an attempt', async () => {
    const sender = fakeSender();
    const { lane } = lanes.open(sender);
    const event = await commitEvent(db);
    lane.accept(event, performance.now() - 10_100);
    await waitFor('the lease to end', async () => (await lanes.readEvent(event.eventId)).leaseUntil <= new Date());
    expect(await lanes.readEvent(event.eventId)).toMatchObject({
      outbox: 'attempt',
      deliveries: [{ attemptCount: 0 }],
    });
    expect(sender.sent).toEqual([]);
  });

  it('holds its slot meanwhile, so that a flood of such events makes few statements at once', async () => {
    let [underWay, most, returned] = [0, 0, 0];
    const slow = Object.assign(Object.create(db), {
      async query() {
        most = Math.max(most, ++underWay);
        await new Promise(setImmediate);
        underWay--;
        returned++;
        return [];
      },
    });
    const { lane } = lanes.open(fakeSender(), { db: slow });
    const event = await commitEvent(db);
    for (let i = 0; i < 400; i++) lane.accept({ ...event, eventId: newId() }, performance.now() - 10_100);
    await waitFor('all to be returned', () => returned === 400);
    expect(most).toBe(10);
  });
});
