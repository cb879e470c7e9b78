import fc from 'fast-check';
import { bucketOf, quantileOf, sumOf } from '../../src/webhooks/answer-times.js';

const counted = (times: readonly number[]) => sumOf(times.map((ms) => [...Array<number>(bucketOf(ms)).fill(0), 1]));

describe('answer times', () => {
  it('has no quantile before an attempt is counted', () => {
    expect(quantileOf([], 0.5)).toBeNull();
    expect(quantileOf(counted([]), 0.95)).toBeNull();
  });

  it('separates the median from the slow twentieth', () => {
    const times = counted([...Array<number>(94).fill(20), ...Array<number>(6).fill(4_000)]);
    expect(quantileOf(times, 0.5)).toBe(18);
    expect(quantileOf(times, 0.95)).toBeGreaterThan(3_500);
  });

  it('estimates every quantile of any times to an eighth', () => {
    const someTimes = fc.array(fc.integer({ min: 1, max: 16_000 }), { minLength: 1 });
    fc.assert(
      fc.property(someTimes, fc.constantFrom(0.5, 0.95, 1), (times, quantile) => {
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(times.length * quantile) - 1] ?? 0;
        const estimate = quantileOf(counted(times), quantile) ?? 0;
        expect(Math.abs(estimate - exact) / exact).toBeLessThanOrEqual(0.18);
      }),
    );
  });

  it('has few buckets, also for the longest attempt', () => {
    expect(bucketOf(0)).toBe(0);
    expect(bucketOf(16_000)).toBeLessThan(45);
  });
});
