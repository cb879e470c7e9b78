import { scaleSymlog } from 'd3-scale';
import { useContext } from 'preact/hooks';
import type { LastAttempt } from '../../reports/read-deliveries.js';
import { durationText, Now, utcText } from './values.js';

const HEIGHT = 56;
const Y = 20;
/** The first minute takes as much room as each tenfold of the rest: a ladder begins with seconds and ends with days. */
const MINUTE = 60_000;

interface LadderProps {
  /** Oldest first. */
  attempts: readonly Pick<LastAttempt, 'number' | 'startedAt' | 'error' | 'responseStatus'>[];
  planned: readonly { number: number; at: Date }[];
  status: string;
}

/** The ladder of a delivery along a time axis: made, slept, planned. The list has the words. */
export function LadderPlot({ attempts, planned, status }: LadderProps) {
  const now = useContext(Now).getTime();
  const first = attempts[0]?.startedAt.getTime();
  if (first === undefined || attempts.length + planned.length < 2) return null;
  const made = attempts.map(({ startedAt }) => startedAt.getTime());
  const lastMade = Math.max(...made);
  const end = Math.max(lastMade, ...planned.map(({ at }) => at.getTime()), first + MINUTE);
  const scale = scaleSymlog([0, end - first], [1.5, 98.5])
    .constant(MINUTE)
    .clamp(true);
  const x = (at: number) => `${Math.round(scale(at - first) * 100) / 100}%`;
  const isPending = status === 'pending';
  const ticks = TICKS.filter((tick) => tick < end - first);
  return (
    <svg class="plot ladder" height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="plot-grid" x1={x(first + tick)} x2={x(first + tick)} y1={4} y2={36} />
          <text x={x(first + tick)} y={HEIGHT - 4} text-anchor="middle">
            {durationText(tick)}
          </text>
        </g>
      ))}
      <line class="ladder-slept" x1={x(first)} x2={x(isPending ? Math.min(now, end) : lastMade)} y1={Y} y2={Y} />
      {isPending && <line class="ladder-planned" x1={x(Math.min(now, end))} x2={x(end)} y1={Y} y2={Y} />}
      {planned.map(({ number, at }) => (
        <circle key={number} class="ladder-open" cx={x(at.getTime())} cy={Y} r={6}>
          <title>{`Attempt ${number} planned at ${utcText(at)}`}</title>
        </circle>
      ))}
      {attempts.map(({ number, startedAt, error, responseStatus }) => (
        <circle key={number} class={error === null ? 'plot-good' : 'plot-bad'} cx={x(startedAt.getTime())} cy={Y} r={6}>
          <title>{`Attempt ${number} at ${utcText(startedAt)}: ${responseStatus ?? error}`}</title>
        </circle>
      ))}
    </svg>
  );
}

/** Distances from the first attempt, ms. */
const TICKS = [5, 30, 120, 480, 1_440, 4_320, 14_400].map((minutes) => minutes * MINUTE);
