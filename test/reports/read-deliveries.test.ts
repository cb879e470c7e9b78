import { plannedAttempts } from '../../src/reports/read-deliveries.js';

const START = new Date('2026-11-22T10:00:00.000Z');
const row = {
  status: 'pending' as const,
  attemptCount: 0,
  rung: 0,
  ladder: '0s,5m,30m',
  nextAttemptAt: START as Date | null,
};
/** Number and time after START, s, of each planned attempt. */
const planned = (fields: Partial<typeof row>) =>
  plannedAttempts({ ...row, ...fields }).map(({ number, at }) => [number, (at.getTime() - START.getTime()) / 1_000]);

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
    expect(planned({ attemptCount: 2, rung: 2 })).toEqual([
      [3, 0],
      [4, 1_800],
    ]);
    expect(planned({ attemptCount: 3, rung: 3 })).toEqual([[4, 0]]);
  });

  it('have later numbers after manual retries, and the same times', () => {
    expect(planned({ attemptCount: 5, rung: 2 })).toEqual([
      [6, 0],
      [7, 1_800],
    ]);
  });

  it('have numbers that continue after a recovery, on the whole ladder', () => {
    expect(planned({ attemptCount: 9 })).toEqual([
      [10, 0],
      [11, 0],
      [12, 300],
      [13, 2_100],
    ]);
  });

  it('are one where the ladder that the row keeps is empty', () => {
    expect(planned({ ladder: '' })).toEqual([[1, 0]]);
  });

  it.each(['succeeded', 'failed', 'cancelled'] as const)('are none once the delivery has %s', (status) => {
    expect(plannedAttempts({ ...row, status, nextAttemptAt: null })).toEqual([]);
  });
});
