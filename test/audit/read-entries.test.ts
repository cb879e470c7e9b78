import { listEntries } from '../../src/audit/read-entries.js';
import { recordAudit } from '../../src/audit/record.js';
import { timeOf } from '../../src/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OPERATOR } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('lists the newest entries first, with filters and page by page', async () => {
  await recordAudit(db, { actor: OPERATOR, action: 'clients.revoke', target: 'a' });
  await recordAudit(db, { actor: 'client:system', action: 'transfers.set-status', target: 'a' });
  await recordAudit(db, { actor: OPERATOR, action: 'clients.revoke-secret', target: 'b' });
  const [newest, middle, oldest] = await listEntries(db, { take: 9 });
  const ids = async (filters: Partial<Parameters<typeof listEntries>[1]>) =>
    (await listEntries(db, { take: 9, ...filters })).map(({ id }) => id);

  expect([newest, middle, oldest]).toMatchObject([{ target: 'b' }, { actor: 'client:system' }, { target: 'a' }]);
  expect(await ids({ target: 'a' })).toEqual([middle?.id, oldest?.id]);
  expect(await ids({ actor: OPERATOR })).toEqual([newest?.id, oldest?.id]);
  expect(await ids({ action: 'clients.revoke' })).toEqual([newest?.id, oldest?.id]);
  expect(await ids({ action: 'transfers' })).toEqual([middle?.id]);
  expect(await ids({ take: 1, before: newest?.id })).toEqual([middle?.id]);
  expect(await ids({ createdAfter: newest!.at.getTime() })).toEqual([]);
  expect(await ids({ createdAfter: oldest!.at.getTime() - 1 })).toHaveLength(3);
  expect(newest?.at.getTime()).toBe(timeOf(newest!.id));
});
