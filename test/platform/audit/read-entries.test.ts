import { expect, it } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../../bench/lists/plans.js';
import { listEntries, recordAudit } from '../../../src/platform/audit.js';
import { timeOf } from '../../../src/platform/ids.js';
import { openTestDatabase } from '../../support/database.js';
import { OPERATOR } from '../../support/factories.js';

const db = await openTestDatabase();

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

it('reads no more entries than it lists, even if one client wrote nearly all of them', async () => {
  await db.query(
    `insert into audit_entries (id, at, actor, action, target)
     select gen_random_uuid(), now(), 'client:busy', 'endpoints.update', 'busy' from generate_series(1, 20000)`,
    [],
  );
  await db.query('analyze audit_entries', []);
  const explained = openExplained(db.url.reveal());
  try {
    const read: [string, number][] = [];
    for (const filters of [{}, { actor: OPERATOR }, { target: 'b' }, { action: 'clients' }, { actor: 'client:busy' }]) {
      await listEntries(explained, { take: 50, ...filters });
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      read.push([JSON.stringify(filters), Math.max(...nodes.map(rowsOf))]);
    }
    expect(read.filter(([, rows]) => rows > 51)).toEqual([]);
    expect(read).toHaveLength(5);
  } finally {
    await explained.close();
  }
});
