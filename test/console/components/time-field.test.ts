import { timeOfField, timeValue } from '../../../src/console/components/time-field.js';

it('reads the time of a field as UTC, with and without seconds, and keeps a zone that was typed', () => {
  expect(timeOfField('2026-11-22T06:14')).toBe('2026-11-22T06:14:00Z');
  expect(timeOfField('2026-11-22T06:14:03')).toBe('2026-11-22T06:14:03Z');
  expect(timeOfField('2026-11-22T06:14:03+01:00')).toBe('2026-11-22T06:14:03+01:00');
});

it('fills a field with a time in UTC', () => {
  expect(timeValue(new Date('2026-11-22T06:14:03.999Z'))).toBe('2026-11-22T06:14:03');
});
