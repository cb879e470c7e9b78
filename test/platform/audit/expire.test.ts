import { expect, test } from '@jest/globals';
import { expireAudit, listEntries } from '../../../src/platform/audit.js';
import { newId } from '../../../src/platform/ids.js';
import { openTestDatabase } from '../../support/database.js';
import { BY_OPERATOR } from '../../support/factories.js';

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
