import { removeExpiredKeys } from '../../src/retention/expired-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes stored responses after 24 h, a limited number at a time, and no younger one', async () => {
  const clientId = await makeClient(db);
  const HOUR = 3_600_000;
  for (const [key, age] of [
    ['a', 25],
    ['b', 48],
    ['c', 24.1],
    ['young', 23.9],
  ] as const) {
    const createdAt = new Date(Date.now() - age * HOUR);
    const answer = { requestHash: Buffer.alloc(32), status: 201, headers: {}, body: '{}' };
    await db.prisma.idempotencyKey.create({ data: { clientId, key, createdAt, ...answer } });
  }
  expect(await removeExpiredKeys(db, 2)).toBe(2);
  expect(await removeExpiredKeys(db, 2)).toBe(1);
  expect((await db.prisma.idempotencyKey.findMany()).map(({ key }) => key)).toEqual(['young']);
});
