import fc from 'fast-check';
import { readEnvironment } from '../../src/platform/config/config.js';
import { parseDuration } from '../../src/platform/duration.js';
import { ladderFromText, ladderToText } from '../../workflows/ladder.js';

describe('the ladder', () => {
  it('is kept in a row as short text', () => {
    expect(ladderToText([0, 300_000, 1_800_000, 7_200_000, 21_600_000, 86_400_000])).toBe('0s,5m,30m,2h,6h,1d');
    expect(ladderFromText('')).toEqual([]);
  });

  it('is read from its text as the setting gave it, whatever the setting', () => {
    const delay = fc
      .tuple(fc.nat(999_999_999), fc.constantFrom('ms', 's', 'm', 'h', 'd'))
      .map((parts) => parts.join(''))
      .filter((text) => (parseDuration(text) ?? Infinity) <= 3_650 * 86_400_000);
    fc.assert(
      fc.property(fc.array(delay, { minLength: 1, maxLength: 50 }), (delays) => {
        const { DELIVERY_RETRY_DELAYS: set } = readEnvironment({ DELIVERY_RETRY_DELAYS: delays.join() });
        expect(ladderFromText(ladderToText(set))).toEqual(set);
      }),
    );
  });
});
