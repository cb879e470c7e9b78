import { newId } from '../../src/ids.js';
import { removeExpiredLimits } from '../../src/retention/expired-limits.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes retries older than an hour and recovers that ended a day ago, and keeps those that limits still count', async () => {
  const [retried, recovered] = [newId(), newId()];
  for (const minutes of [59, 61, 90]) {
    await db.query(
      `insert into manual_retries (delivery_id, id, at) values ($1::uuid, $2::uuid, now() - $3::int * interval '1 minute')`,
      [retried, newId(), minutes],
    );
  }
  for (const [hours, ended] of [
    [23, true],
    [25, true],
    [25, false],
  ] as const) {
    await db.query(
      `insert into recovers (id, client_id, endpoint_id, count, at, starting_until, ended_at)
       select $1::uuid, $1::uuid, $2::uuid, 1, at, at, case when $4::boolean then at end
         from (select now() - $3::int * interval '1 hour') as t(at)`,
      [newId(), recovered, hours, ended],
    );
  }
  expect(await removeExpiredLimits(db, 1)).toBe(2);
  expect(await removeExpiredLimits(db, 10)).toBe(1);
  expect(await removeExpiredLimits(db, 10)).toBe(0);
  const [left] = await db.query(
    `select (select count(*)::int from manual_retries) as retries, (select count(*)::int from recovers) as recovers`,
    [],
  );
  expect(left).toEqual({ retries: 1, recovers: 2 });
});
