import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readBacklog } from '../../src/outbox/backlog.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const none = { attempt: 0, start: 0, trailing: 0 };

test('reports zeros when nothing waits', async () => {
  expect(await readBacklog(db)).toEqual({
    events: none,
    oldestEventAge: none,
    ...{ sleeping: 0, overdue: 0, mostOverdue: 0, oldestKeptAge: 0 },
  });
});

test('counts waiting events by state, and finds the oldest event of all clients', async () => {
  const events = [];
  for (let i = 0; i < 5; i++) events.push(await commitEvent(db));
  const [first, second, third, fourth, fifth] = events.map(({ eventId }) => eventId);
  const is = (eventId: string | undefined, outbox: string, madeAgo: number) =>
    db.query(
      `update events set outbox = $2::outbox_state, created_at = now() - $3::int * interval '1 s' where id = $1::uuid`,
      [...[eventId, outbox, madeAgo]],
    );
  const planned = (eventId: string | undefined, inSeconds: number) =>
    db.query(`update deliveries set next_attempt_at = now() + $2::int * interval '1 s' where event_id = $1::uuid`, [
      ...[eventId, inSeconds],
    ]);
  await is(first, 'done', 9_000);
  await is(second, 'attempt', 70);
  await is(third, 'attempt', 80);
  await is(fourth, 'start', 100);
  await is(fifth, 'trailing', 200);
  await planned(first, 300);
  await planned(second, -45);
  await planned(third, -90);
  await planned(fourth, -600);
  await planned(fifth, 0);

  const backlog = await readBacklog(db);
  expect(backlog).toMatchObject({ events: { attempt: 2, start: 1, trailing: 1 }, sleeping: 1, overdue: 2 });
  // The columns round to the millisecond, so that an age may be less than the time between two statements.
  const atLeast = (age: number, least: number) => expect(Math.floor((age - least + 1) / 10)).toBe(0);
  atLeast(backlog.oldestEventAge.attempt, 80);
  atLeast(backlog.oldestEventAge.start, 100);
  atLeast(backlog.oldestEventAge.trailing, 200);
  atLeast(backlog.mostOverdue, 600);
  atLeast(backlog.oldestKeptAge, 9_000);
});
