import { render } from 'preact-render-to-string';
import { type Check, CheckReport } from '../../../../src/console/pages/endpoints/check.js';

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
  it('shows the requests that were sent, and that the others are pending', () => {
    const html = render(<CheckReport check={check({})} />);
    expect(html).toContain('Running: 1 of 9 requests were sent');
    expect(html.match(/>passed</g)).toHaveLength(1);
    expect(html.match(/>pending</g)).toHaveLength(8);
    expect(html).toContain('Content-Type: application/json\n\n{&quot;id&quot;:&quot;1&quot;}');
  });

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

  it('says that there was no response', () => {
    const cases = [made({ response_status: null, error: 'timeout', passed: false })];
    expect(render(<CheckReport check={check({ cases })} />)).toContain('Received: no response (timeout).');
  });

  // It would pass four cases without verifying anything.
  it('is inconclusive about wrong signatures for a receiver that rejects everything', () => {
    const cases = [
      made({ response_status: 401, error: 'status', passed: false }),
      made({ name: 'wrong_secret', expected: 'refused', response_status: 401, error: 'status' }),
    ];
    const html = render(<CheckReport check={check({ status: 'failed', cases })} />);
    expect(html).toContain('Failed: 0 of 9 cases passed, and 1 is inconclusive because your receiver accepts nothing');
    expect(html.match(/>inconclusive</g)).toHaveLength(1);
    expect(html).not.toContain('>passed<');
  });
});
