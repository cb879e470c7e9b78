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
  it('shows the requests that were sent, and that the others wait', () => {
    const html = render(<CheckReport check={check({})} />);
    expect(html).toContain('Running: 1 of 9 requests were sent');
    expect(html.match(/>passed</g)).toHaveLength(1);
    expect(html.match(/>waits</g)).toHaveLength(8);
    expect(html).toContain('Content-Type: application/json\n\n{&quot;id&quot;:&quot;1&quot;}');
  });

  it('names the mistake, and the answer that was given in place of the expected one', () => {
    const cases = [
      made({ name: 'wrong_secret', expected: 'refused', passed: false, hint: 'It accepts any signature.' }),
    ];
    const html = render(<CheckReport check={check({ status: 'failed', cases })} />);
    expect(html).toContain('Failed: right in 0 of 9 cases');
    expect(html).toContain('It accepts any signature.');
    expect(html).toContain('Got: 204.');
    expect(html.match(/>not sent</g)).toHaveLength(8);
  });

  it('says that no answer came', () => {
    const cases = [made({ response_status: null, error: 'timeout', passed: false })];
    expect(render(<CheckReport check={check({ cases })} />)).toContain('Got: no answer (timeout).');
  });
});
