import { expect, test } from '@jest/globals';
import { withinShare } from '../../../src/platform/database/transaction-turns.js';

const CAPACITY = 120;

/** The units that each of `clients` holds when each takes as many as it may, in turn. */
function fill(clients: number): number[] {
  const held = Array.from({ length: clients }, () => 0);
  for (let took = true; took; ) {
    took = false;
    held.forEach((units, i) => {
      const free = CAPACITY - held.reduce((sum, each) => sum + each);
      if (!withinShare(units, 1, free)) return;
      held[i] = units + 1;
      took = true;
    });
  }
  return held;
}

test.each([1, 2, 3, 5])('%i flooding clients leave a share free for a client that holds nothing', (clients) => {
  const held = fill(clients);
  const free = CAPACITY - held.reduce((sum, each) => sum + each);
  for (const units of held) expect(Math.abs(units - CAPACITY / (clients + 1))).toBeLessThanOrEqual(1);
  expect(withinShare(0, 1, free)).toBe(true);
});

test('a client gets at most as many units as are free beyond its own', () => {
  expect([withinShare(30, 40, 70), withinShare(30, 41, 70), withinShare(0, 70, 70)]).toEqual([true, false, true]);
});
