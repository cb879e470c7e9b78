import { delayAfter } from '../src/ladder.js';

const LADDER = [0, 300_000, 1_800_000];

describe('the ladder', () => {
  it('has a delay after each attempt, and none after the last', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => delayAfter(LADDER, attempt))).toEqual([...LADDER, null, null]);
  });

  it('has no delay before the first attempt, and none at all when it is empty', () => {
    expect(delayAfter(LADDER, 0)).toBeNull();
    expect(delayAfter([], 1)).toBeNull();
  });
});
