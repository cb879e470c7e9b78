import fc from 'fast-check';
import { readEnvironment } from '../../src/platform/config/config.js';
import { delayAfter, ladderFromText, ladderToText } from '../../workflows/ladder.js';

const LADDER = [0, 300_000, 1_800_000];

describe('the ladder', () => {
  it('has a delay after each attempt, and none after the last', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => delayAfter(LADDER, attempt))).toEqual([...LADDER, null, null]);
  });

  it('is kept in a row as short text', () => {
    expect(ladderToText([0, 300_000, 1_800_000, 7_200_000, 21_600_000, 86_400_000])).toBe('0s,5m,30m,2h,6h,1d');
    expect(ladderFromText('')).toEqual([]);
  });

  it('is read from its text as the setting gave it, whatever the setting', () => {
    const delay = fc
      .tuple(fc.nat(999_999_999), fc.constantFrom('ms', 's', 'm', 'h', 'd'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(delay, { minLength: 1, maxLength: 50 }), (delays) => {
        const { DELIVERY_RETRY_DELAYS: set } = readEnvironment({ DELIVERY_RETRY_DELAYS: delays.join() });
        expect(ladderFromText(ladderToText(set))).toEqual(set);
      }),
    );
  });

  it('has no delay before the first attempt, and none at all when it is empty', () => {
    expect(delayAfter(LADDER, 0)).toBeNull();
    expect(delayAfter([], 1)).toBeNull();
  });
});
