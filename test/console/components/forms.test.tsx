import { render } from 'preact-render-to-string';
import { ErrorSummary, timeOfField, timeValue } from '../../../src/console/components/forms.js';
import { Refusal } from '../../../src/platform/refusal.js';

it('names a refused field as its label does, where the API has another name', () => {
  const errors = [
    { pointer: '/url', code: 'required', detail: 'is missing' },
    { pointer: '/max_concurrency', code: 'too_big', detail: 'may be at most 100' },
  ];
  const refusal = new Refusal('invalid_request', 'The request is not valid.', errors);
  const html = render(<ErrorSummary refused={{ refusal, fields: new URLSearchParams() }} />);
  expect(html).toContain('<li>url is missing</li>');
  expect(html).toContain('<li>deliveries at the same time may be at most 100</li>');
});

it('reads the time of a field as UTC, with and without seconds, and keeps a zone that was typed', () => {
  expect(timeOfField('2026-11-22T06:14')).toBe('2026-11-22T06:14:00Z');
  expect(timeOfField('2026-11-22T06:14:03')).toBe('2026-11-22T06:14:03Z');
  expect(timeOfField('2026-11-22T06:14:03+01:00')).toBe('2026-11-22T06:14:03+01:00');
});

it('fills a field with a time in UTC', () => {
  expect(timeValue(new Date('2026-11-22T06:14:03.999Z'))).toBe('2026-11-22T06:14:03');
});
