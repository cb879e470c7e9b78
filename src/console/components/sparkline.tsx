import type { EndpointHealth } from '../../webhooks/endpoint-health.js';

type Hours = EndpointHealth['hours'];

const BAR = 7;
const STEP = 9;
const HEIGHT = 40;
/** A failure is visible beside any number of successes. */
const LEAST = 3;

/**
 * The attempts of each hour as bars: succeeded ones from the base, failed ones upon them. The label says the numbers, so
 * that nothing depends on seeing the colours.
 */
export function Sparkline({ hours }: { hours: Hours }) {
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  const width = hours.length * STEP - (STEP - BAR);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={labelOf(hours)}
    >
      {hours.map((hour, i) => (
        <Bar key={hour.start.getTime()} hour={hour} most={most} x={i * STEP} />
      ))}
    </svg>
  );
}

function Bar({ hour, most, x }: { hour: Hours[number]; most: number; x: number }) {
  const [good, bad] = [heightOf(hour.succeeded, most), heightOf(hour.failed, most)];
  // Where both together do not fit, the larger part gives way.
  const excess = Math.max(0, good + bad - HEIGHT);
  const [goodHeight, badHeight] = good > bad ? [good - excess, bad] : [good, bad - excess];
  return (
    <g>
      <title>{hourText(hour)}</title>
      <rect class="spark-base" x={x} y={HEIGHT} width={BAR} height={2} />
      {good > 0 && <rect class="spark-good" x={x} y={HEIGHT - goodHeight} width={BAR} height={goodHeight} />}
      {bad > 0 && <rect class="spark-bad" x={x} y={HEIGHT - goodHeight - badHeight} width={BAR} height={badHeight} />}
    </g>
  );
}

const heightOf = (count: number, most: number) =>
  count === 0 ? 0 : Math.max(LEAST, Math.round((count / most) * HEIGHT));

/** `06:00 UTC: 12 succeeded, 1 failed` */
function hourText({ start, succeeded, failed }: Hours[number]): string {
  return `${start.toISOString().slice(11, 16)} UTC: ${succeeded} succeeded, ${failed} failed`;
}

function labelOf(hours: Hours): string {
  const sum = (part: 'succeeded' | 'failed') => hours.reduce((total, hour) => total + hour[part], 0);
  const [first] = hours;
  const since = first ? ` since ${first.start.toISOString().slice(11, 16)} UTC` : '';
  return `Attempts by the hour${since}: ${sum('succeeded')} succeeded, ${sum('failed')} failed`;
}
