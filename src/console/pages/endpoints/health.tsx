import type { EndpointHealth } from '../../../endpoints/health.js';
import { Table } from '../../components/lists.js';
import { Facts } from '../../components/parts.js';
import { countText, durationText, RelativeTime } from '../../components/values.js';

/** An endpoint's last 24 h: attempts by the hour, the receiver's answer times, the last success, and what waits. */
export function HealthView({ health }: { health: EndpointHealth | undefined }) {
  if (!health) return <p class="muted">Its health is not known.</p>;
  const { hours, succeeded, failed, answerTime, pending } = health;
  return (
    <div class="health">
      <figure class="health-chart">
        <Sparkline hours={hours} />
        <figcaption class="muted">Attempts by the hour, last 24 h</figcaption>
      </figure>
      <Facts
        class="health-facts"
        of={{
          Succeeded: <Attempts count={succeeded} />,
          Failed: <Attempts count={failed} bad={failed > 0} />,
          'Answer p50 / p95': (
            <span
              class="numeric"
              title="Time to the receiver's answer: half, and 95 %, of the answers took at most this long"
            >
              {answerTime ? `${durationText(answerTime.p50)} / ${durationText(answerTime.p95)}` : '–'}
            </span>
          ),
          Waiting: (
            <>
              <span class="numeric">
                {pending.more && 'more than '}
                {countText(pending.count)}
              </span>
              <NextAttempt pending={pending} />
            </>
          ),
          'Last success': <LastSuccess health={health} />,
        }}
      />
    </div>
  );
}

export function LastSuccess({ health }: { health: EndpointHealth | undefined }) {
  return health?.lastSuccessAt ? <RelativeTime at={health.lastSuccessAt} /> : <>none yet</>;
}

/** The unit stands beside the number, because one delivery can have several attempts. */
function Attempts({ count, bad = false }: { count: number; bad?: boolean }) {
  return (
    <span class={bad ? 'bad-text' : undefined}>
      <span class="numeric">{countText(count)}</span>
      <span class="health-unit"> {count === 1 ? 'attempt' : 'attempts'}</span>
    </span>
  );
}

function NextAttempt({ pending: { count, nextAttemptAt } }: Pick<EndpointHealth, 'pending'>) {
  if (count === 0 || !nextAttemptAt) return null;
  return (
    <span class="health-unit"> next {nextAttemptAt > new Date() ? <RelativeTime at={nextAttemptAt} /> : 'now'}</span>
  );
}

/** The numbers of the chart as a table. */
export function HoursTable({ health: { hours } }: { health: EndpointHealth }) {
  return (
    <details>
      <summary>The numbers of each hour</summary>
      <Table
        rows={hours.toReversed()}
        columns={[
          { heading: 'Hour (UTC)', cell: ({ start }) => start.toISOString().slice(0, 16).replace('T', ' ') },
          { heading: 'Succeeded', cell: ({ succeeded }) => countText(succeeded) },
          { heading: 'Failed', cell: ({ failed }) => countText(failed) },
        ]}
      />
    </details>
  );
}

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
