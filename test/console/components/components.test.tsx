import { render } from 'preact-render-to-string';
import { ErrorSummary } from '../../../src/console/components/error-summary.js';
import { Pager } from '../../../src/console/components/pager.js';
import { Status } from '../../../src/console/components/status.js';
import { RelativeTime, Time } from '../../../src/console/components/time.js';
import { Refusal } from '../../../src/refusal.js';

const now = new Date('2026-11-22T06:14:03.123Z');

describe('time', () => {
  it('shows UTC and the distance from now', () => {
    expect(render(<Time at="2026-11-22T06:18:03.500Z" now={now} />)).toBe(
      '<time class="time" datetime="2026-11-22T06:18:03.500Z" title="2026-11-22T06:18:03.500Z">2026-11-22 06:18:03 UTC <span class="relative">in 4 min</span></time>',
    );
  });

  it('reads the time of an event, which has no zone, as UTC', () => {
    expect(render(<RelativeTime at="2026-11-22T04:14:03.123" now={now} />)).toBe(
      '<time class="time" datetime="2026-11-22T04:14:03.123Z" title="2026-11-22 04:14:03 UTC">2 h ago</time>',
    );
  });
});

it('shows a status by its name in the API', () => {
  expect(render(<Status status="succeeded" />)).toBe('<span class="badge good">succeeded</span>');
  expect(render(<Status status="RETURNED" />)).toBe('<span class="badge bad">RETURNED</span>');
});

it('names a refused field as its label does, where the API has another name', () => {
  const errors = [
    { pointer: '/url', code: 'required', detail: 'is missing' },
    { pointer: '/max_concurrency', code: 'too_big', detail: 'may be at most 100' },
  ];
  const refusal = new Refusal('invalid_request', 'The request is not valid.', errors);
  const html = render(<ErrorSummary refused={{ path: '/', refusal, fields: new URLSearchParams() }} />);
  expect(html).toContain('<li>url is missing</li>');
  expect(html).toContain('<li>deliveries at the same time may be at most 100</li>');
});

describe('pager', () => {
  const pager = (query: string, nextCursor: string | null) =>
    render(<Pager path="/console/events" query={new URLSearchParams(query)} nextCursor={nextCursor} />);

  it('is absent on the only page', () => {
    expect(pager('type=transfer.status_changed', null)).toBe('');
  });

  it('keeps the filters on the way to the next page and back to the start', () => {
    const html = pager('type=a%26b&transfer_id=&cursor=old', 'new');
    expect(html).toContain('href="/console/events?type=a%26b"');
    expect(html).toContain('href="/console/events?type=a%26b&amp;cursor=new"');
  });
});
