import { render } from 'preact-render-to-string';
import { ErrorSummary, readIsoTime, timeValue } from '../../../src/console/components/parts.js';
import { Refusal } from '../../../src/platform/refusal.js';

it('names a rejected field by its label if the API has another name', () => {
  const errors = [
    { pointer: '/url', code: 'required', detail: 'is missing' },
    { pointer: '/max_concurrency', code: 'too_big', detail: 'may be at most 100' },
  ];
  const refusal = new Refusal('invalid_request', 'The request is not valid.', errors);
  const html = render(<ErrorSummary refused={{ refusal, fields: new URLSearchParams() }} />);
  expect(html).toContain('<li>url is missing</li>');
  expect(html).toContain('<li>concurrent deliveries may be at most 100</li>');
});

it.each([
  ['2026-11-22', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22T06:14', '2026-11-22T06:14:00.000Z'],
  [' 2026-11-22 06:14:03 utc', '2026-11-22T06:14:03.000Z'],
  ['2026-11-22T06:14:03.5+01:00', '2026-11-22T05:14:03.500Z'],
  ['2026-11-31 06:14', undefined],
  ['2026-11-22 24:00', undefined],
  ['0000-01-01', undefined],
  ['0001-01-01T00:00+01:00', undefined],
  ['9999-12-31T23:59:59-01:00', undefined],
  ['22.11.2026', undefined],
  ['yesterday', undefined],
])('reads %s as %s, in UTC unless it names a zone', (text, time) => {
  expect(readIsoTime(text)?.toISOString()).toBe(time);
});

it('fills a field with a time in UTC', () => {
  expect(timeValue(new Date('2026-11-22T06:14:03.999Z'))).toBe('2026-11-22 06:14:03');
});
