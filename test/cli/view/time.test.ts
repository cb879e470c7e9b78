import { fullTime } from '../../../src/cli/view/time.js';

const now = new Date('2026-11-21T10:00:00.000Z');

it('prints the full time to the second', () => {
  expect(fullTime(new Date(now.getTime() + 240_500), now)).toBe('in 4 min (2026-11-21T10:04:00Z)');
});
