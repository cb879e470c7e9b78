import { scaleBand, scaleLinear } from 'd3-scale';
import { line, stack } from 'd3-shape';
import type { AttemptStep, EndpointMarks, PlotPeriod } from '../../reports/attempt-series.js';
import { Table } from './lists.js';
import { addressOf, Tabs } from './parts.js';
import { countText, durationText, Time, utcText } from './values.js';

// Plots, drawn here as SVG. Places along the time axis are percentages, so that a plot fills any width and its text
// keeps its size. Nothing is styled inline: the style sheet has the colours.

/** Heights, px: the bars of attempts, the lines of response times, and the texts above, between and below. */
const BARS = { top: 40, height: 110 };
const LINES = { top: 176, height: 56 };
const HEIGHT = 252;

const PERIODS: Readonly<Record<PlotPeriod, string>> = { '24h': '24 hours', '7d': '7 days', '30d': '30 days' };

/** The period that a query asks for. */
export function periodOf(query: URLSearchParams): PlotPeriod {
  const wanted = query.get('period') ?? '';
  return wanted in PERIODS ? (wanted as PlotPeriod) : '24h';
}

interface PlotProps {
  /** The page with the plot, which its periods lead to. */
  path: string;
  period: PlotPeriod;
  steps: readonly AttemptStep[];
  marks?: EndpointMarks | undefined;
  /** The page of what was sent in a step; undefined: there is none. */
  hrefOf?: ((step: AttemptStep) => string) | undefined;
}

/** Attempts and response times of a period: a plot, and the same as a table. */
export function AttemptPlot({ path, period, steps, marks, hrefOf }: PlotProps) {
  const hrefOfPeriod = (name: string) =>
    name === '24h' ? path : addressOf(path, new URLSearchParams({ period: name }));
  const tabs = Object.entries(PERIODS).map(([name, text]) => ({ href: hrefOfPeriod(name), text }));
  const isEmpty = steps.every(({ succeeded, failed }) => succeeded + failed === 0);
  return (
    <section class="card stack plot-card" aria-labelledby="plot-name">
      <div class="row between">
        <h2 id="plot-name">Attempts and response times</h2>
        <Tabs label="Period" tabs={tabs} here={hrefOfPeriod(period)} />
      </div>
      {isEmpty ? (
        <p class="muted">No attempts in the last {PERIODS[period]}.</p>
      ) : (
        <>
          <Legend marks={marks} />
          <Svg {...{ period, steps, marks, hrefOf }} />
        </>
      )}
      <details>
        <summary>As a table</summary>
        <Table
          rows={steps.toReversed()}
          columns={{
            From: ({ start }) => <Time at={start} />,
            Succeeded: ({ succeeded }) => countText(succeeded),
            Failed: ({ failed }) => countText(failed),
            p50: ({ p50 }) => (p50 === null ? '–' : durationText(p50)),
            p95: ({ p95 }) => (p95 === null ? '–' : durationText(p95)),
          }}
        />
        {marks?.disabled.map(({ from, to, reason }) => (
          <p key={from.getTime()}>
            Disabled ({reason}) from <Time at={from} /> {to ? <>to {<Time at={to} />}</> : 'until now'}
          </p>
        ))}
        {marks?.recoveries.map(({ id, at, status }) => (
          <p key={id}>
            Recovery ({status}) started <Time at={at} />
          </p>
        ))}
      </details>
    </section>
  );
}

function Legend({ marks }: Pick<PlotProps, 'marks'>) {
  const entries = {
    'key-good': 'Succeeded',
    'key-bad': 'Failed',
    'key-p50': 'p50',
    'key-p95': 'p95',
    ...(marks && marks.disabled.length > 0 && { 'key-disabled': 'Disabled' }),
    ...(marks && marks.recoveries.length > 0 && { 'key-recovery': 'Recovery' }),
  };
  return (
    <ul class="legend row">
      {Object.entries(entries).map(([key, text]) => (
        <li key={key} class={`key ${key}`}>
          {text}
        </li>
      ))}
    </ul>
  );
}

function Svg({ period, steps, marks, hrefOf }: Omit<PlotProps, 'path'>) {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) return null;
  const time = scaleLinear([first.start.getTime(), last.end.getTime()], [0, 100]).clamp(true);
  const band = scaleBand<number>(
    steps.map((_, i) => i),
    [0, 100],
  ).paddingInner(0.2);
  const most = Math.max(1, ...steps.map(({ succeeded, failed }) => succeeded + failed));
  const count = scaleLinear([0, most], [BARS.top + BARS.height, BARS.top]).nice(2);
  const slowest = Math.max(1, ...steps.map(({ p95 }) => p95 ?? 0));
  const duration = scaleLinear([0, slowest], [LINES.top + LINES.height, LINES.top]);
  const layers = stack<AttemptStep>().keys(['succeeded', 'failed'])(steps as AttemptStep[]);
  const width = band.bandwidth();
  const attempts = { ticks: count.ticks(2).filter(Number.isInteger), y: count, text: countText };
  const times = { ticks: [0, slowest], y: duration, text: durationText };
  return (
    <svg class="plot" height={HEIGHT}>
      <title>Attempts and response times by time, UTC</title>
      {marks?.disabled.map(({ from, to }) => {
        const [x, end] = [time(from), time(to ?? last.end)];
        return (
          <rect
            key={from.getTime()}
            class="plot-disabled"
            x={percent(x)}
            y={BARS.top}
            width={percent(end - x)}
            height={LINES.top + LINES.height - BARS.top}
          />
        );
      })}
      <Grid {...attempts} />
      <Grid {...times} />
      {steps.map((step, i) => {
        const bars = layers.map((layer, n) => {
          const [from = 0, to = 0] = layer[i] ?? [];
          const [y, bottom] = [count(to), count(from)];
          // What happened at all is seen beside much that happened.
          const height = to > from ? Math.max(2, bottom - y) : 0;
          return (
            <rect
              key={layer.key}
              class={n === 0 ? 'plot-good' : 'plot-bad'}
              x={percent(band(i) ?? 0)}
              y={bottom - height}
              width={percent(width)}
              height={height}
            />
          );
        });
        const figures = figuresOf(step);
        const content = (
          <>
            <rect class="plot-hit" x={percent(band(i) ?? 0)} y={0} width={percent(band.step())} height={HEIGHT} />
            {bars}
            <text class="plot-figures" x={0} y={12}>
              {figures[0]}
            </text>
            <text class="plot-figures" x={0} y={28}>
              {figures[1]}
            </text>
          </>
        );
        const name = figures.join(', ');
        if (!hrefOf || step.succeeded + step.failed === 0) {
          return (
            <g key={step.start.getTime()} class="plot-step">
              <title>{name}</title>
              {content}
            </g>
          );
        }
        return (
          <a key={step.start.getTime()} class="plot-step" href={hrefOf(step)} aria-label={name}>
            {content}
          </a>
        );
      })}
      <Lines {...{ steps, duration }} />
      <GridLabels {...attempts} />
      <GridLabels {...times} />
      {marks?.recoveries.map(({ id, at }) => (
        <line
          key={id}
          class="plot-recovery"
          x1={percent(time(at))}
          x2={percent(time(at))}
          y1={BARS.top - 4}
          y2={LINES.top + LINES.height}
        />
      ))}
      {steps.map(
        ({ start }, i) =>
          i % LABELLED[period] === 0 && (
            <text key={start.getTime()} class="plot-label" x={percent(band(i) ?? 0)} y={HEIGHT - 4}>
              {labelOf(start, period)}
            </text>
          ),
      )}
    </svg>
  );
}

/** Steps from one label of the time axis to the next. */
const LABELLED: Readonly<Record<PlotPeriod, number>> = { '24h': 6, '7d': 8, '30d': 10 };

function labelOf(start: Date, period: PlotPeriod): string {
  const text = start.toISOString();
  return period === '24h' ? text.slice(11, 16) : text.slice(5, 10);
}

export const percent = (share: number) => `${Math.round(share * 100) / 100}%`;

interface GridProps {
  ticks: readonly number[];
  y: (value: number) => number;
  text: (value: number) => string;
}

function Grid({ ticks, y }: Omit<GridProps, 'text'>) {
  return (
    <>
      {ticks.map((tick) => (
        <line key={tick} class="plot-grid" x1="0%" x2="100%" y1={y(tick)} y2={y(tick)} />
      ))}
    </>
  );
}

/** Stand above the bars. */
function GridLabels({ ticks, y, text }: GridProps) {
  return (
    <>
      {ticks.map(
        (tick) =>
          tick > 0 && (
            <text key={tick} class="plot-tick" x={0} y={y(tick) - 3}>
              {text(tick)}
            </text>
          ),
      )}
    </>
  );
}

/** The quantiles of the response times. Paths have no percentages, so that they have a box of their own. */
function Lines({ steps, duration }: { steps: readonly AttemptStep[]; duration: (ms: number) => number }) {
  const path = (quantile: 'p50' | 'p95') =>
    line<AttemptStep>()
      .defined((step) => step[quantile] !== null)
      .x((_, i) => ((i + 0.4) / steps.length) * 1_000)
      .y((step) => duration(step[quantile] ?? 0))(steps as AttemptStep[]) ?? '';
  return (
    <svg
      class="plot-lines"
      viewBox={`0 0 1000 ${HEIGHT}`}
      width="100%"
      height={HEIGHT}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="plot-p95" d={path('p95')} />
      <path class="plot-p50" d={path('p50')} />
    </svg>
  );
}

/** The figures of a step in two lines. */
function figuresOf({ start, end, succeeded, failed, p50, p95 }: AttemptStep): [string, string] {
  const span = `${utcText(start).slice(0, 16)} to ${utcText(end).slice(11, 16)} UTC`;
  const times = p50 === null || p95 === null ? '' : `, p50 ${durationText(p50)}, p95 ${durationText(p95)}`;
  return [span, `${countText(succeeded)} succeeded, ${countText(failed)} failed${times}`];
}
