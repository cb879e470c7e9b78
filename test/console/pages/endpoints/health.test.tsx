import { render } from 'preact-render-to-string';
import { rateText, Sparkline } from '../../../../src/console/pages/endpoints/health.js';

const hour = (succeeded: number, failed: number, at = 6) => ({
  start: new Date(Date.UTC(2026, 10, 22, at)),
  succeeded,
  failed,
});

describe('sparkline', () => {
  it('says its numbers in words, as a whole and for each hour', () => {
    const html = render(<Sparkline hours={[hour(12, 1), hour(0, 3, 7)]} />);
    expect(html).toContain('aria-label="Attempts by the hour since 06:00 UTC: 12 succeeded, 4 failed"');
    expect(html).toContain('<title>07:00 UTC: 0 succeeded, 3 failed</title>');
  });

  it('draws no bar for an hour without attempts, and has no inline style', () => {
    const html = render(<Sparkline hours={[hour(0, 0)]} />);
    expect(html).not.toMatch(/good|bad|style=/);
  });

  it('shows one failure beside any number of successes, inside of the chart', () => {
    const html = render(<Sparkline hours={[hour(1_000_000, 1)]} />);
    const bars = [...html.matchAll(/class="(good|bad)" x="0" y="(\d+)" width="7" height="(\d+)"/g)];
    const [good, bad] = bars.map(([, , y, height]) => ({ y: Number(y), height: Number(height) }));
    expect(bad?.height).toBe(3);
    expect(bad?.y).toBe(0);
    expect(good?.y).toBe(3);
    expect((good?.height ?? 0) + (bad?.height ?? 0)).toBe(40);
  });
});

it.each([
  [0, 0, '–'],
  [0, 3, '0 %'],
  [3, 3, '100 %'],
  [2, 3, '66.7 %'],
  [999_999, 1_000_000, '99.9 %'],
  [1, 1_000_000, '0.1 %'],
])('the success rate of %d in %d attempts is %s: 100 %% only if all succeeded', (succeeded, attempts, text) => {
  expect(rateText(succeeded, attempts)).toBe(text);
});
