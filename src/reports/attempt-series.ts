import { type Causes, HOUR, type HourCount, quantileOf, sumOf, sumOfCauses } from '../endpoints/hours.js';
import { type Handle, readClock } from '../platform/database/database.js';
import type { DisabledReason, RECOVERY_STATUSES } from '../platform/vocabulary.js';

/** The periods of a plot: their length and that of each of its steps, ms. */
export const PLOT_PERIODS = {
  '24h': { step: HOUR, steps: 24 },
  '7d': { step: 6 * HOUR, steps: 28 },
  '30d': { step: 24 * HOUR, steps: 30 },
} as const;

export type PlotPeriod = keyof typeof PLOT_PERIODS;

/** The attempts that started in one step of a plot. */
export interface AttemptStep {
  start: Date;
  end: Date;
  succeeded: number;
  failed: number;
  /** The time to the response, ms; null: there was none. */
  p50: number | null;
  p95: number | null;
}

export interface AttemptSeries {
  /** Oldest first; the last one has only begun. */
  steps: readonly AttemptStep[];
  /** Failed attempts of the whole period. */
  causes: Causes;
}

type Row = Pick<HourCount, 'succeeded' | 'failed' | 'answer_times' | 'causes'> & { hour: Date };

/**
 * Reads the attempts of a period, in steps of UTC, from the hourly counts: at most 720 rows.
 * @param id an endpoint, a client or `ALL_CLIENTS`; the caller has checked that it belongs to the reader
 */
export async function readAttemptSeries(
  db: Handle,
  id: string,
  period: PlotPeriod,
  given?: number,
): Promise<AttemptSeries> {
  const { step, steps } = PLOT_PERIODS[period];
  const first = startOfPlot(period, given ?? (await readClock(db)));
  const rows = await db.query<Row>(HOURS, [id, new Date(first).toISOString()]);
  const byStep = Map.groupBy(rows, ({ hour }) => Math.floor((hour.getTime() - first) / step));
  return {
    steps: Array.from({ length: steps }, (_, i) => {
      const hours = byStep.get(i) ?? [];
      const times = sumOf(hours.map(({ answer_times }) => answer_times ?? []));
      return {
        start: new Date(first + i * step),
        end: new Date(first + (i + 1) * step),
        succeeded: hours.reduce((sum, { succeeded }) => sum + succeeded, 0),
        failed: hours.reduce((sum, { failed }) => sum + failed, 0),
        p50: quantileOf(times, 0.5),
        p95: quantileOf(times, 0.95),
      };
    }),
    causes: sumOfCauses(rows.map(({ causes }) => causes)),
  };
}

/** The start of the first step, ms since 1970. The last step has `now`. */
export function startOfPlot(period: PlotPeriod, now: number): number {
  const { step, steps } = PLOT_PERIODS[period];
  return now - (now % step) - (steps - 1) * step;
}

const HOURS = `
select hour, succeeded, failed, answer_times, causes from endpoint_hours
 where endpoint_id = $1::uuid and hour >= $2::timestamptz order by hour`;

/** What happened to an endpoint meanwhile. */
export interface EndpointMarks {
  disabled: readonly { from: Date; to: Date | null; reason: DisabledReason }[];
  recoveries: readonly { id: string; at: Date; status: (typeof RECOVERY_STATUSES)[number] }[];
}

/** Marks of each kind that a plot shows. */
const MOST_MARKS = 50;

/** Reads when an endpoint was disabled, and its recoveries, in the period of a plot. */
export async function readEndpointMarks(
  db: Handle,
  endpointId: string,
  period: PlotPeriod,
  given?: number,
): Promise<EndpointMarks> {
  const since = new Date(startOfPlot(period, given ?? (await readClock(db)))).toISOString();
  const values = [endpointId, since, MOST_MARKS];
  return {
    disabled: await db.query<EndpointMarks['disabled'][number]>(DISABLED, values),
    recoveries: await db.query<EndpointMarks['recoveries'][number]>(RECOVERIES, values),
  };
}

/** Periods of an endpoint do not overlap: those that touch the plot are among the latest. */
const DISABLED = `
select started_at as "from", ended_at as "to", reason
  from (select * from endpoint_disabled_periods where endpoint_id = $1::uuid order by started_at desc limit $3::int) p
 where ended_at is null or ended_at > $2::timestamptz order by started_at`;

const RECOVERIES = `
select id::text, created_at as at, status
  from (select * from recoveries where endpoint_id = $1::uuid order by id desc limit $3::int) r
 where created_at >= $2::timestamptz order by id`;
