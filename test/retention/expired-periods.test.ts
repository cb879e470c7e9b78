import { removeExpiredPeriods } from '../../src/retention/expired-periods.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const HOUR = 3_600_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes periods that ended before the retention, and keeps those that lasted into it', async () => {
  const { id: endpointId } = await makeEndpoint(db, await makeClient(db));
  const ago = (hours: number) => new Date(Date.now() - hours * HOUR);
  for (const [from, to] of [
    [9, 8],
    [7, 6],
    [5, 1],
    [4, null],
  ] as const) {
    const endedAt = to === null ? null : ago(to);
    await db.prisma.disabledPeriod.create({ data: { endpointId, startedAt: ago(from), endedAt, reason: 'owner' } });
  }
  expect(await removeExpiredPeriods(db, 3 * HOUR, 1)).toBe(1);
  expect(await removeExpiredPeriods(db, 3 * HOUR, 10)).toBe(1);
  expect(await removeExpiredPeriods(db, 3 * HOUR, 10)).toBe(0);
  expect(await db.prisma.disabledPeriod.count()).toBe(2);
});
