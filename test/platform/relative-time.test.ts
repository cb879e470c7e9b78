import { relativeTime } from '../../src/platform/duration.js';

const now = new Date('2026-11-21T10:00:00.000Z');
const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000);

it.each([
  [0.2, 'now'],
  [20, 'in 20 s'],
  [-89, '89 s ago'],
  [4 * 60 + 10, 'in 4 min'],
  [-2 * 3_600, '2 h ago'],
  [32 * 3_600, 'in 32 h'],
  [-10 * 86_400, '10 d ago'],
])('%d s away is %s', (seconds, text) => {
  expect(relativeTime(after(seconds), now)).toBe(text);
});
