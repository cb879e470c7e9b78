import { render } from 'preact-render-to-string';
import { rateText } from '../../../../src/console/components/values.js';
import { type Check, CheckReport } from '../../../../src/console/pages/endpoints/check.js';
import { missedSince } from '../../../../src/console/pages/endpoints/statement.js';
import { endpoint, health } from './make.js';

const made = (fields: Partial<Check['cases'][number]>): Check['cases'][number] => ({
  name: 'valid',
  expected: '2xx',
  response_status: 204,
  error: null,
  passed: true,
  hint: null,
  request: { headers: { 'Content-Type': 'application/json' }, body: '{"id":"1"}' },
  ...fields,
});

const check = (fields: Partial<Check>): Check => ({
  id: '019abe01-7a10-7c44-9d02-3f1f6f0c8a11',
  status: 'running',
  started_at: '2026-11-22T06:30:00.000Z',
  finished_at: null,
  cases: [made({})],
  ...fields,
});

describe('the report of a check', () => {
  it('names the mistake and the response', () => {
    const cases = [
      made({}),
      made({ name: 'wrong_secret', expected: 'refused', passed: false, hint: 'It accepts any signature.' }),
    ];
    const html = render(<CheckReport check={check({ status: 'failed', cases })} />);
    expect(html).toContain('Failed: 1 of 9 cases passed');
    expect(html).toContain('It accepts any signature.');
    expect(html).toContain('Received: 204.');
    expect(html.match(/>not sent</g)).toHaveLength(7);
  });

  // It would pass four cases without verifying anything.
  it('is inconclusive about wrong signatures for a receiver that rejects everything', () => {
    const cases = [
      made({ response_status: 401, error: 'status', passed: false }),
      made({ name: 'wrong_secret', expected: 'refused', response_status: 401, error: 'status' }),
    ];
    const html = render(<CheckReport check={check({ status: 'failed', cases })} />);
    expect(html).toContain('Failed: 0 of 9 cases passed');
    expect(html.match(/>inconclusive</g)).toHaveLength(1);
    expect(html).not.toContain('>passed<');
  });
});

it.each([
  [0, 3, '0 %'],
  [3, 3, '100 %'],
  [2, 3, '66.6 %'],
  [999_999, 1_000_000, '99.9 %'],
])('the success rate of %d in %d attempts is %s: 100 %% only if all succeeded', (succeeded, attempts, text) => {
  expect(rateText(succeeded, attempts)).toBe(text);
});

const DAY = 86_400_000;
const now = Date.parse('2026-11-22T06:30:00Z');

describe('the start of the window that an endpoint may have missed', () => {
  it('is its last success', () => {
    expect(missedSince(endpoint(), health(), 90 * DAY, now)).toBe('2026-11-22 06:28:00');
  });

  it('is within the longest window and the retention, so the statement is not rejected', () => {
    const old = endpoint({ created_at: '2026-01-01T00:00:00.000Z' });
    expect(missedSince(old, undefined, 90 * DAY, now)).toBe('2026-10-22 06:31:00');
    expect(missedSince(old, undefined, DAY, now)).toBe('2026-11-21 06:31:00');
  });
});
