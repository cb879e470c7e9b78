import { scaleBand, scaleLinear } from 'd3-scale';
import { percent } from './plot.js';
import { countText } from './values.js';

/** The last 24 hours of an endpoint in the row of a table. */
export function Sparkline({ hours }: { hours: readonly { succeeded: number; failed: number }[] }) {
  const [width, height] = [96, 22];
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  const x = scaleBand<number>(
    hours.map((_, i) => i),
    [0, width],
  ).paddingInner(0.25);
  const y = scaleLinear([0, most], [0, height]);
  const bar = (left: number, bottom: number, tall: number) => {
    const top = Math.max(0, bottom - tall);
    return tall > 0
      ? `M${round(left)} ${round(top)}h${round(x.bandwidth())}v${round(bottom - top)}h-${round(x.bandwidth())}z`
      : '';
  };
  const sum = (name: 'succeeded' | 'failed') => hours.reduce((total, hour) => total + hour[name], 0);
  return (
    <svg
      class="sparkline"
      width={width}
      height={height}
      role="img"
      aria-label={`In 24 hours ${countText(sum('succeeded'))} succeeded, ${countText(sum('failed'))} failed`}
    >
      <rect class="plot-base" x={0} y={height - 1} width={width} height={1} />
      {/* A path for all bars of a colour: a page has a hundred of these plots. */}
      <path
        class="plot-good"
        d={hours.map(({ succeeded }, i) => bar(x(i) ?? 0, height, visible(y(succeeded)))).join('')}
      />
      <path
        class="plot-bad"
        d={hours
          .map(({ succeeded, failed }, i) => bar(x(i) ?? 0, height - visible(y(succeeded)), visible(y(failed))))
          .join('')}
      />
    </svg>
  );
}

const round = (length: number) => Math.round(length * 10) / 10;

const visible = (height: number) => (height > 0 ? Math.max(2, height) : 0);

/** Failed attempts by cause, the most frequent first; each leads to the deliveries whose last attempt failed so. */
export function CauseBars({
  causes,
  hrefOf,
}: {
  causes: Readonly<Record<string, number>>;
  hrefOf?: (cause: string) => string;
}) {
  const sorted = Object.entries(causes).sort(([, one], [, other]) => other - one);
  const shown = sorted.slice(0, MOST_CAUSES);
  const others = sorted.slice(MOST_CAUSES).reduce((sum, [, n]) => sum + n, 0);
  const share = scaleLinear([0, sorted[0]?.[1] ?? 1], [0, 100]);
  return (
    <ul class="causes">
      {shown.map(([cause, n]) => (
        <li key={cause}>
          {hrefOf ? <a href={hrefOf(cause)}>{cause}</a> : <span>{cause}</span>}
          <svg height={14} aria-hidden="true">
            <rect class="plot-bad" x={0} y={0} width={percent(Math.max(1, share(n)))} height={14} rx={2} />
          </svg>
          <span class="numeric">{countText(n)}</span>
        </li>
      ))}
      {others > 0 && <li class="muted">{countText(others)} of other causes</li>}
    </ul>
  );
}

const MOST_CAUSES = 8;
