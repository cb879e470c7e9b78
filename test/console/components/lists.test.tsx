import { render } from 'preact-render-to-string';
import { Pager } from '../../../src/console/components/lists.js';

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
