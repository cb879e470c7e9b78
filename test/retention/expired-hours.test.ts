import { newId } from '../../src/ids.js';
import { removeExpiredHours } from '../../src/retention/expired-hours.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes hourly counts after two days, at most `limit` at once', async () => {
  const endpointId = newId();
  for (const hours of [1, 47, 49, 50, 51]) {
    await db.query(
      `insert into endpoint_hours (endpoint_id, hour, succeeded, failed)
       values ($1::uuid, now() - $2::int * interval '1 hour', 1, 0)`,
      [endpointId, hours],
    );
  }
  expect(await removeExpiredHours(db, 2)).toBe(2);
  expect(await removeExpiredHours(db, 2)).toBe(1);
  expect(await db.prisma.endpointHour.count()).toBe(2);
});
