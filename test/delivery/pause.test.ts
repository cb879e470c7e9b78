import { expect, it } from '@jest/globals';
import { pauseOf } from '../../src/delivery/pause.js';
import { outcome } from '../support/factories.js';

const NOW = new Date('2026-11-28T10:00:00Z');
const pause = (text: string, responseStatus = 429, date?: string) =>
  pauseOf(
    outcome({
      ...{ responseStatus, error: 'status', startedAt: NOW, durationMs: 1_000 },
      responseHeaders: { 'retry-after': text, ...(date !== undefined && { date }) },
    }),
  );

it.each([
  ['30', 30],
  ['601', 600],
  ['99999999999999999999999', 600],
  ['0', null],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['', null],
  // From its end, by the clock that dates the attempt.
  ['Sat, 28 Nov 2026 10:00:31 GMT', 30],
  ['Saturday, 28-Nov-26 10:00:31 GMT', 30],
  ['Sat Nov 28 10:00:31 2026', 30],
  ['Sat, 28 Nov 2026 09:00:00 GMT', null],
  ['Sat, 28 Nov 2036 10:00:00 GMT', 600],
  ['2026-11-28T10:00:31Z', null],
])('Retry-After: %s asks for %s seconds', (text, seconds) => {
  expect(pause(text)).toBe(seconds);
});

it("counts a date from the receiver's own", () => {
  expect(pause('Sat, 28 Nov 2020 10:00:20 GMT', 503, 'Sat, 28 Nov 2020 10:00:00 GMT')).toBe(20);
});

it('heeds no other status, and no response without the header', () => {
  expect([500, 200, 301].map((status) => pause('30', status))).toEqual([null, null, null]);
  expect(pauseOf(outcome({ responseStatus: 429 }))).toBeNull();
});
