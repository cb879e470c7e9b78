import { expect, test } from '@jest/globals';
import { CommittedUntil, LATEST_COMMIT } from '../../../src/platform/database/committed-until.js';
import type { Handle } from '../../../src/platform/database/database.js';
import { createTestDatabase } from '../../support/database.js';

const AT = 1_000_000;

/** A database whose readings these are, the last one again and again: the open transactions and the start of each. */
function readings(...all: Record<string, number | null>[]): Pick<Handle, 'query'> {
  let n = 0;
  const row = () => {
    const open = Object.entries(all[Math.min(n, all.length - 1)] ?? {}).map(([id, start]) => ({ id, start }));
    return { at: String(AT + 20 * n++), open };
  };
  return { query: async <Row>() => [row() as Row] };
}

test.each([
  ['now if no transaction is open', [{}], AT],
  ['the start of the oldest open transaction', [{ a: AT - 30, b: AT - 50 }], AT - 50],
  ['now once the transactions that hide their start have ended', [{ a: null, b: null }, { b: null }, { c: null }], AT],
  ['the longest time of a session if one that hides its start stays open', [{ a: null }], AT - LATEST_COMMIT],
])('every event is committed until %s', async (_, all, expected) => {
  expect(await new CommittedUntil().read(readings(...all))).toBe(expected);
});

test('regression: a vacuum of the events and readers do not hold it back', async () => {
  const db = await createTestDatabase();
  try {
    const other = await db.openSession();
    await other.query('begin');
    await other.query('lock table events in share update exclusive mode');
    await other.query('select from events for share');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [before] = await db.query<{ now: string }>('select extract(epoch from clock_timestamp()) * 1000 as now', []);
    expect(await new CommittedUntil().read(db)).toBeGreaterThanOrEqual(Math.floor(Number(before?.now)));
    await other.query('rollback');
  } finally {
    await db.drop();
  }
});

test('the time never goes back', async () => {
  const committed = new CommittedUntil();
  await committed.read(readings({}));
  expect(await committed.read(readings({ a: null }))).toBe(AT);
});
