import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/platform/duration.js';

describe('durations', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['90d', 7_776_000_000],
    ['36500d', 3_153_600_000_000],
    [' 5m ', 300_000],
  ])('parses %p as %p ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '5', '5 m', '-5m', '1.5h', 'm', '5mm', '1w', 'Infinity', '99999999999s', '36501d'])(
    'rejects %p',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('parses what it has formatted to the same number', () => {
    fc.assert(fc.property(fc.nat(10 ** 8), (ms) => parseDuration(formatDuration(ms)) === ms));
  });
});
