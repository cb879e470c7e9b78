import type { EndpointHealth } from '../../../endpoints/health.js';
import { Table } from '../../components/lists.js';
import { Facts } from '../../components/parts.js';
import { countOf, countText, durationText, RelativeTime } from '../../components/values.js';

/** An endpoint's last 24 h: success rate, response times, attempts by the hour, the last success and pending deliveries. */
export function HealthView({ health }: { health: EndpointHealth | undefined }) {
  if (!health) return <p class="muted">Its health is not known.</p>;
  const { hours, succeeded, failed, answerTime, pending } = health;
  const attempts = succeeded + failed;
  return (
    <div class="health">
      <figure>
        <Sparkline hours={hours} />
        <figcaption class="hint">Attempts by the hour, last 24 h</figcaption>
      </figure>
      <Facts
        class="stats"
        of={{
          'Success rate': (
            <>
              <strong class={failed > 0 ? 'bad-text' : undefined}>{rateText(succeeded, attempts)}</strong>{' '}
              <span class="hint">of {countOf(attempts, 'attempt', 'attempts')}</span>
            </>
          ),
          'Response p95': (
            <>
              <strong>{answerTime ? durationText(answerTime.p95) : '–'}</strong>{' '}
              {answerTime && <span class="hint">p50 {durationText(answerTime.p50)}</span>}
            </>
          ),
          Pending: (
            <>
              <strong>
                {pending.more && 'more than '}
                {countText(pending.count)}
              </strong>
              <NextAttempt pending={pending} />
            </>
          ),
          'Last success': (
            <strong>
              <LastSuccess health={health} />
            </strong>
          ),
        }}
      />
    </div>
  );
}

/** The success rate alone, for a list. */
export function Rate({ health }: { health: EndpointHealth | undefined }) {
  if (!health) return <>–</>;
  const { succeeded, failed } = health;
  return <span class={failed > 0 ? 'bad-text' : undefined}>{rateText(succeeded, succeeded + failed)}</span>;
}

/** The share of successes in per cent; 100 % only if all succeeded, 0 % only if none did. */
export function rateText(succeeded: number, attempts: number): string {
  if (attempts === 0) return '–';
  const tenths = Math.round((succeeded / attempts) * 1_000);
  const bounded = succeeded === attempts ? 1_000 : succeeded === 0 ? 0 : Math.min(999, Math.max(1, tenths));
  return `${bounded / 10} %`;
}

export function LastSuccess({ health }: { health: EndpointHealth | undefined }) {
  return health?.lastSuccessAt ? <RelativeTime at={health.lastSuccessAt} /> : <>none yet</>;
}

function NextAttempt({ pending: { count, nextAttemptAt } }: Pick<EndpointHealth, 'pending'>) {
  if (count === 0 || !nextAttemptAt) return null;
  return <span class="hint"> next {nextAttemptAt > new Date() ? <RelativeTime at={nextAttemptAt} /> : 'now'}</span>;
}

/** The numbers of the chart as a table. */
export function HoursTable({ health: { hours } }: { health: EndpointHealth }) {
  return (
    <details>
      <summary>The numbers of each hour</summary>
      <Table
        rows={hours.toReversed()}
        columns={{
          'Hour (UTC)': ({ start }) => start.toISOString().slice(0, 16).replace('T', ' '),
          Succeeded: ({ succeeded }) => countText(succeeded),
          Failed: ({ failed }) => countText(failed),
        }}
      />
    </details>
  );
}

type Hours = EndpointHealth['hours'];

const BAR = 7;
const STEP = 9;
const HEIGHT = 40;
/** A failure stays visible next to any number of successes. */
const LEAST = 3;

/**
 * The attempts of each hour as bars: failed ones on top of succeeded ones. The label has the numbers, so that nothing
 * depends on colours.
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
  // If both do not fit, the larger part shrinks.
  const excess = Math.max(0, good + bad - HEIGHT);
  const [goodHeight, badHeight] = good > bad ? [good - excess, bad] : [good, bad - excess];
  return (
    <g>
      <title>{hourText(hour)}</title>
      <rect x={x} y={HEIGHT} width={BAR} height={2} />
      {good > 0 && <rect class="good" x={x} y={HEIGHT - goodHeight} width={BAR} height={goodHeight} />}
      {bad > 0 && <rect class="bad" x={x} y={HEIGHT - goodHeight - badHeight} width={BAR} height={badHeight} />}
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
