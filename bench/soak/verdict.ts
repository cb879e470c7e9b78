/** What a soak reads once a minute. */
export interface Sample {
  /** Since the start of the load. */
  minute: number;
  /** Memory of each part, MiB. */
  memory: Record<string, number>;
  /** Rows of each table that retention keeps small. */
  rows: Record<string, number>;
}

export interface Verdict {
  what: string;
  /** Undefined: the run was too short to judge it. */
  met: boolean | undefined;
}

export interface Growth {
  /** The slope of the line through the points, per hour. */
  perHour: number;
  /** Twice the slope's standard error: in 19 of 20 cases the true slope is within it. */
  uncertainty: number;
}

/** The slope of a value over time, by least squares. NaN of fewer than three points. */
export function growthOf(points: readonly { minute: number; value: number }[]): Growth {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minute, value] = [mean((point) => point.minute), mean((point) => point.value)];
  const spread = points.reduce((sum, point) => sum + (point.minute - minute) ** 2, 0);
  const slope = points.reduce((sum, point) => sum + (point.minute - minute) * (point.value - value), 0) / spread;
  if (points.length < 3) return { perHour: Number.NaN, uncertainty: Number.NaN };
  const residuals = points.reduce(
    (sum, point) => sum + (point.value - value - slope * (point.minute - minute)) ** 2,
    0,
  );
  const error = Math.sqrt(residuals / (points.length - 2) / spread);
  return { perHour: slope * 60, uncertainty: 2 * error * 60 };
}

/** The heaps of V8 and Go grow for the first ten minutes, so the slope of a shorter run is meaningless. */
const SHORTEST = 30;

/** The first third of a run is its warm-up: caches fill, and V8 compiles. */
export const lastTwoThirds = (samples: readonly Sample[]): readonly Sample[] =>
  samples.slice(Math.floor(samples.length / 3));

/**
 * Whether the memory of each part is flat. A part fails if it certainly grows by more than the bound. A run of less
 * than half an hour is not judged.
 * @param bound MiB an hour
 */
export function judgeMemory(samples: readonly Sample[], bound: number): Verdict[] {
  const judged = lastTwoThirds(samples);
  return Object.keys(samples[0]?.memory ?? {}).map((part) => {
    const points = judged.map(({ minute, memory }) => ({ minute, value: memory[part] ?? Number.NaN }));
    const { perHour, uncertainty } = growthOf(points);
    return {
      what: `memory of ${part} is flat: ${perHour.toFixed(0)} ± ${uncertainty.toFixed(0)} MiB an hour, at most ${bound}`,
      met: (samples.at(-1)?.minute ?? 0) < SHORTEST ? undefined : perHour - uncertainty <= bound,
    };
  });
}

/** Allowance for a retention run that pauses or falls behind for a while. */
const SLACK = 1.5;
/** Retention runs once a minute and takes a while. */
const MINUTES_BETWEEN_RUNS = 2;

/**
 * Whether retention keeps each table at the rows of its window.
 * @param aMinute rows that the load adds in a minute
 * @param retention minutes
 */
export function judgeRows(samples: readonly Sample[], aMinute: number, retention: number): Verdict[] {
  const window = retention + MINUTES_BETWEEN_RUNS;
  const bound = Math.ceil(aMinute * window * SLACK);
  const settled = samples.filter(({ minute }) => minute > window);
  return Object.keys(samples[0]?.rows ?? {}).map((table) => {
    const most = Math.max(...settled.map(({ rows }) => rows[table] ?? Number.NaN));
    const what = `rows of ${table} are bounded: ${settled.length > 0 ? most : 'too few minutes to judge'}, at most ${bound}`;
    return { what, met: most <= bound && settled.length > 0 };
  });
}

/** A delivery that the receiver did not get. */
export interface Missing {
  transfer: string;
  /** The delivery's status; undefined: it has no row. */
  status: string | undefined;
}

/** Every acknowledged change arrived, or the delivery's row says that it failed or was cancelled. */
export function judgeArrivals(acknowledged: number, missing: readonly Missing[]): Verdict {
  const lost = missing.filter(({ status }) => status !== 'failed' && status !== 'cancelled');
  const examples = lost.slice(0, 5).map(({ transfer, status }) => `${transfer} (${status ?? 'no row'})`);
  return {
    what: `nothing is lost: ${acknowledged} acknowledged, ${missing.length - lost.length} ended without success, ${lost.length} lost ${examples.join(', ')}`.trim(),
    met: lost.length === 0 && acknowledged > 0,
  };
}
