import { parseSince } from '../../src/cli/arguments.js';

it('reads --since as a time or as a duration before now', () => {
  expect(parseSince('2026-11-21T10:00:00Z')).toBe(Date.UTC(2026, 10, 21, 10));
  expect(parseSince('2026-11-21T10:00+02:00')).toBe(Date.UTC(2026, 10, 21, 8));
  expect(parseSince('2026-11-21')).toBe(Date.UTC(2026, 10, 21));
  const before = Date.now();
  const hourAgo = parseSince('1h') + 3_600_000;
  expect(hourAgo >= before && hourAgo <= Date.now()).toBe(true);
});

it.each(['', 'yesterday', '2026-13-01', '2026-11-21T10:00:00', '1', '10:00'])(
  'refuses %j as neither a time nor a duration',
  (text) => {
    expect(() => parseSince(text)).toThrow('Give a duration such as 2h, or a time');
  },
);
