import { expect, test } from '@jest/globals';
import { expireAudit, listEntries } from '../../../src/platform/audit.js';
import { openDatabase } from '../../../src/platform/database/database.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { newId } from '../../../src/platform/ids.js';
import { openTestDatabase } from '../../support/database.js';
import { BY_OPERATOR } from '../../support/factories.js';
import { createOwnedDatabase } from '../../support/runtime-role.js';

const DAY = 86_400_000;
const RETENTION = 100 * DAY;

const db = await openTestDatabase();

/** An entry that was made `days` ago. */
async function entry(days: number): Promise<string> {
  const at = new Date(Date.now() - days * DAY);
  const id = newId(at.getTime());
  await db.prisma.auditEntry.create({ data: { id, at, actor: 'client:system', action: 'endpoints.update' } });
  return id;
}
const entries = () => listEntries(db, { take: 50 });

test('removes entries older than the retention, in batches, keeps the others, and leaves one entry', async () => {
  for (const days of [300, 200, 150, 120, 101]) await entry(days);
  const kept = [await entry(99), await entry(0)];
  expect(await expireAudit(db, BY_OPERATOR, RETENTION, 2)).toBe(5);
  const [own, ...others] = await entries();
  expect(own).toMatchObject({ ...BY_OPERATOR, action: 'audit.expire', target: null, details: { older_than: '100d' } });
  expect(others.map(({ id }) => id)).toEqual(kept.reverse());
});

test('the runtime role is rejected, and may not remove an entry by SQL either', async () => {
  const owned = await createOwnedDatabase();
  await migrate(owned.ownerUrl, { runtime: owned.runtimeRole });
  const runtime = openDatabase({ url: owned.runtimeUrl, poolSize: 2 });
  try {
    await expect(expireAudit(runtime, BY_OPERATOR, RETENTION)).rejects.toThrow(
      `DATABASE_URL: the role ${owned.runtimeRole} may not do this; give the URL of the owner of the tables`,
    );
    await expect(runtime.query('delete from audit_entries', [])).rejects.toThrow('permission denied');
  } finally {
    await runtime.close();
    await owned.drop();
  }
});
