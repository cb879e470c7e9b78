import { expect, it } from '@jest/globals';
import { parseSince } from '../../src/cli/command.js';

it('reads --since as a time or as a duration before now', () => {
  const now = Date.UTC(2026, 10, 28);
  expect(parseSince('2026-11-21T10:00:00Z')(now)).toBe(Date.UTC(2026, 10, 21, 10));
  expect(parseSince('2026-11-21T10:00+02:00')(now)).toBe(Date.UTC(2026, 10, 21, 8));
  expect(parseSince('2026-11-21')(now)).toBe(Date.UTC(2026, 10, 21));
  expect(parseSince('1h')(now)).toBe(now - 3_600_000);
});

it.each([
  ...['', 'yesterday', '2026-13-01', '2026-11-21T10:00:00', '1', '10:00', '2026-02-30', '2026-11-31T10:00:00Z'],
  ...['2026-02-29', '2026-11-21T24:00Z', '2026-11-21T10:00:60Z', '2026-11-21T10:00:00+0000', '0000-01-01'],
  ...['0001-01-01T00:00+01:00', '9999-12-31T23:59:59-01:00', '999999999d', '36501d'],
])('rejects %j as neither a time nor a duration', (text) => {
  expect(() => parseSince(text)).toThrow('Give a duration such as 2h, or a time');
});
