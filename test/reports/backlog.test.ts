import { expect, test } from '@jest/globals';
import type { OutboxState } from '../../src/platform/database/generated/enums.js';
import { readBacklog } from '../../src/reports/backlog.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { setOutbox } from '../support/outbox.js';

const db = await openTestDatabase();

test('counts queued attempts and waiting events by state, and finds the oldest of all clients', async () => {
  const events = [];
  for (let i = 0; i < 6; i++) events.push(await commitEvent(db));
  const [sleeping, asleepLate, done, again, start, delivered] = events.map(({ eventId }) => eventId);
  const is = async (eventId: string, state: OutboxState | null, madeAgo: number) => {
    await setOutbox(db, eventId, state);
    await db.query(`update events set created_at = now() - $2::int * interval '1 s' where id = $1::uuid`, [
      eventId,
      madeAgo,
    ]);
  };
  const sleeps = async (eventId: string | undefined, inSeconds: number) => {
    await db.query(
      `with woken as (
         update deliveries set asleep = true, next_attempt_at = now() + $2::int * interval '1 s' where event_id = $1::uuid
         returning id)
       delete from queue where delivery_id in (select id from woken)`,
      [eventId, inSeconds],
    );
  };
  const isDue = (eventId: string | undefined, ago: number) =>
    db.query(
      `update queue set due_at = now() - $2::int * interval '1 s'
        where delivery_id in (select id from deliveries where event_id = $1::uuid)`,
      [eventId, ago],
    );
  const leaves = (eventId: string | undefined) =>
    db.query('delete from queue where delivery_id in (select id from deliveries where event_id = $1::uuid)', [eventId]);
  await is(sleeping!, null, 9_000);
  await is(again!, 'again', 150);
  await is(start!, 'start', 100);
  await is(delivered!, 'delivered', 200);
  await sleeps(sleeping, 300);
  await sleeps(asleepLate, -600);
  await isDue(done, 45);
  await isDue(again, 90);
  for (const event of [start, delivered]) await leaves(event);

  const backlog = await readBacklog(db);
  expect(backlog).toMatchObject({
    waiting: { attempt: 2, again: 1, start: 1, delivered: 1 },
    ...{ sleeping: 1, overdue: 2 },
  });
  // The columns round to the millisecond, so that an age may be less than the time between two statements.
  const atLeast = (age: number, least: number) => expect(Math.floor((age - least + 1) / 10)).toBe(0);
  atLeast(backlog.oldestAge.attempt, 90);
  atLeast(backlog.oldestAge.again, 150);
  atLeast(backlog.oldestAge.start, 100);
  atLeast(backlog.oldestAge.delivered, 200);
  atLeast(backlog.mostOverdue, 600);
  atLeast(backlog.oldestKeptAge, 9_000);
});

test('finds the most overdue attempt in the queue as well', async () => {
  await db.query('truncate events cascade', []);
  await db.query('delete from queue', []);
  await commitEvent(db);
  await db.query(`update queue set due_at = now() - interval '75 s'`, []);
  const { overdue, mostOverdue } = await readBacklog(db);
  expect([overdue, Math.floor(mostOverdue / 10)]).toEqual([1, 7]);
});

test('an endpoint with an attempt in flight has no oldest attempt, however long its line is', async () => {
  const { clientId, deliveries } = await commitEvent(db);
  await db.query(`update queue set due_at = now() - interval '300 s' where delivery_id = $1::uuid`, [
    deliveries[0]?.deliveryId,
  ]);
  expect((await readBacklog(db)).oldestAge.attempt).toBeGreaterThan(290);
  await commitEvent(db, { clientId, endpoints: 0, token: '00000000-0000-4000-8000-00000000000a' });
  expect((await readBacklog(db)).oldestAge.attempt).toBeLessThan(290);
});
