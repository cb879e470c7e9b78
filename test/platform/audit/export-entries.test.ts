import { expect, test } from '@jest/globals';
import { type Export, exportEntries } from '../../../src/platform/audit.js';
import type { Handle } from '../../../src/platform/database/database.js';
import { newId } from '../../../src/platform/ids.js';
import { openEmptyDatabase } from '../../support/database.js';
import { OPERATOR } from '../../support/factories.js';

const db = await openEmptyDatabase();

/** Writes an entry that is `age` ms old. @returns its id */
async function entry(tx: Handle, age: number): Promise<string> {
  const [id, at] = [newId(Date.now() - age), new Date(Date.now() - age)];
  await tx.prisma.auditEntry.create({ data: { id, at, actor: OPERATOR, action: 'clients.revoke' } });
  return id;
}

async function exported(wanted: Partial<Export> = {}): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of exportEntries(db, { since: undefined, after: undefined, ...wanted })) {
    ids.push(...page.map(({ id }) => id));
  }
  return ids;
}

test('an entry that commits after one with a greater id is not skipped', async () => {
  const { first, smaller, greater } = await db.transaction(async (tx) => {
    const smaller = await entry(tx, 30_000);
    const greater = await entry(db, 20_000);
    return { smaller, greater, first: await exported() };
  });
  // Time has passed.
  const second = await exported({ after: first.at(-1), settledAfter: 10_000 });
  expect([...first, ...second]).toEqual([smaller, greater]);
});

test('gives every settled entry once, oldest first, over several pages, and resumes after any', async () => {
  const data = Array.from({ length: 1_201 }, (_, i) => {
    const at = new Date(Date.now() - 3_600_000 + i * 1_000);
    return { id: newId(at.getTime()), at, actor: OPERATOR, action: 'clients.revoke' };
  });
  await db.prisma.auditEntry.createMany({ data: data.toReversed() });
  const ids = data.map(({ id }) => id);
  expect(await exported()).toEqual(ids);
  expect(await exported({ after: ids[500] })).toEqual(ids.slice(501));
  expect(await exported({ since: data[1_000]!.at.getTime() })).toEqual(ids.slice(1_000));
  expect(await exported({ since: 0, after: ids[1_200] })).toEqual([]);
});

test('follows new entries until it is aborted', async () => {
  const ended = new AbortController();
  const ids = [await entry(db, 90_000)];
  const seen: string[] = [];
  for await (const page of exportEntries(db, { since: undefined, after: undefined, follow: ended.signal })) {
    seen.push(...page.map(({ id }) => id));
    if (seen.length < 3) ids.push(await entry(db, 80_000 - seen.length * 1_000));
    else ended.abort();
  }
  expect(seen).toEqual(ids);
});
