import { median, overRounds, percentile } from '../../bench/statistics.js';

describe('statistics of the bench', () => {
  it('computes percentiles of sorted values', () => {
    const values = Array.from({ length: 100 }, (_, i) => i + 1);
    expect([0, 0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([1, 51, 100, 100]);
    expect(percentile([], 0.5)).toBeNaN();
  });

  it('computes medians of values in any order', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7]);
    expect(median([])).toBeNaN();
  });

  it('reports an event that is lost in one round of three', () => {
    const rounds = [
      { rate: 1, lost: 0 },
      { rate: 3, lost: 1 },
      { rate: 2, lost: 0 },
    ];
    expect(overRounds(rounds, ['lost'])).toEqual({ rate: 2, lost: 1 });
  });
});
