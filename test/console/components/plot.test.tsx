import { expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { AttemptPlot } from '../../../src/console/components/plot.js';

const HOUR = 3_600_000;
const FIRST = Date.UTC(2026, 10, 22);
const steps = Array.from({ length: 24 }, (_, i) => ({
  start: new Date(FIRST + i * HOUR),
  end: new Date(FIRST + (i + 1) * HOUR),
  ...{ succeeded: i === 5 ? 0 : 10, failed: i === 7 ? 3 : 0, p50: 12, p95: 340 },
}));

it('draws each step with its figures and the page of what was sent, and the same as a table', () => {
  const html = render(
    <AttemptPlot
      path="/console"
      period="24h"
      steps={steps}
      hrefOf={({ start }) => `/console/x?${start.getUTCHours()}`}
    />,
  );
  expect(html).toContain(
    '<a class="plot-step" href="/console/x?7" aria-label="2026-11-22 07:00 to 08:00 UTC, 10 succeeded, 3 failed, p50 12 ms, p95 340 ms">',
  );
  // An hour without attempts leads nowhere.
  expect(html).not.toContain('href="/console/x?5"');
  expect(html.match(/<td data-label="Failed">3/g)).toHaveLength(1);
  expect(html).not.toMatch(/ style=| on\w+=|NaN|Infinity/);
});

it('shades when the endpoint was disabled, and marks recoveries', () => {
  const marks = {
    disabled: [{ from: new Date(FIRST + 6 * HOUR), to: new Date(FIRST + 12 * HOUR), reason: 'gone' as const }],
    recoveries: [{ id: 'r', at: new Date(FIRST + 12 * HOUR), status: 'completed' as const }],
  };
  const html = render(<AttemptPlot path="/console" period="24h" steps={steps} marks={marks} />);
  expect(html).toMatch(/<rect class="plot-disabled" x="25%" y="\d+" width="25%"/);
  expect(html).toMatch(/<line class="plot-recovery" x1="50%" x2="50%"/);
  expect(html).toContain('Disabled (gone) from');
});
