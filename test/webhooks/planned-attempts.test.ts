import { plannedAttempts } from '../../src/webhooks/planned-attempts.js';

const START = new Date('2026-11-22T10:00:00.000Z');
const row = {
  status: 'pending' as const,
  attemptCount: 0,
  ladderStart: 0,
  ladder: '0s,5m,30m' as string | null,
  nextAttemptAt: START as Date | null,
};
const PRESENT = [1_000];
/** Number and time after START, s, of each planned attempt. */
const planned = (fields: Partial<typeof row>) =>
  plannedAttempts({ ...row, ...fields }, PRESENT).map(({ number, at }) => [
    number,
    (at.getTime() - START.getTime()) / 1_000,
  ]);

describe('the planned attempts of a delivery', () => {
  it('are all attempts of its ladder before the first one', () => {
    expect(planned({})).toEqual([
      [1, 0],
      [2, 0],
      [3, 300],
      [4, 2_100],
    ]);
  });

  it('begin at the planned time of the next attempt, with the rungs that are left', () => {
    expect(planned({ attemptCount: 2 })).toEqual([
      [3, 0],
      [4, 1_800],
    ]);
    expect(planned({ attemptCount: 3 })).toEqual([[4, 0]]);
  });

  it('have numbers that continue after a recover, on the whole ladder', () => {
    expect(planned({ attemptCount: 9, ladderStart: 9 })).toEqual([
      [10, 0],
      [11, 0],
      [12, 300],
      [13, 2_100],
    ]);
  });

  it('follow the ladder that the row keeps, and the present one where the row keeps none', () => {
    expect(planned({ ladder: '' })).toEqual([[1, 0]]);
    expect(planned({ ladder: null })).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it.each(['succeeded', 'failed', 'cancelled'] as const)('are none once the delivery has %s', (status) => {
    expect(plannedAttempts({ ...row, status, nextAttemptAt: null }, PRESENT)).toEqual([]);
  });
});
