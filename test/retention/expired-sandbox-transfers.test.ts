import { removeExpiredSandboxTransfers } from '../../src/retention/expired-sandbox-transfers.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeTransfer } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes the records of sandbox transfers a day after their end, and no transfer', async () => {
  const clientId = await makeClient(db);
  const ids: string[] = [];
  for (const endedHoursAgo of [null, 23, 25, 26]) {
    const { id } = await makeTransfer(db, clientId);
    const endedAt = endedHoursAgo === null ? null : new Date(Date.now() - endedHoursAgo * 3_600_000);
    await db.prisma.sandboxTransfer.create({ data: { transferId: id, clientId, endedAt } });
    ids.push(id);
  }
  expect(await removeExpiredSandboxTransfers(db, 1)).toBe(1);
  expect(await removeExpiredSandboxTransfers(db, 10)).toBe(1);
  expect(await removeExpiredSandboxTransfers(db, 10)).toBe(0);
  const left = await db.prisma.sandboxTransfer.findMany();
  expect(left.map(({ transferId }) => transferId).sort()).toEqual(ids.slice(0, 2).sort());
  expect(await db.prisma.transfer.count()).toBe(4);
});
