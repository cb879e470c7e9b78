import { expect, test } from '@jest/globals';
import { CommittedUntil, LATEST_COMMIT } from '../../src/delivery/committed-until.js';
import type { Handle } from '../../src/platform/database/database.js';

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

test('the time never goes back', async () => {
  const committed = new CommittedUntil();
  await committed.read(readings({}));
  expect(await committed.read(readings({ a: null }))).toBe(AT);
});
