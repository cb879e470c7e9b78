import { describe, expect, it } from '@jest/globals';
import { readSoakOptions } from '../../../bench/soak/options.js';
import {
  growthOf,
  judgeArrivals,
  judgeMemory,
  judgeRows,
  lastTwoThirds,
  type Sample,
} from '../../../bench/soak/verdict.js';

const samplesOf = (count: number, mib: (minute: number) => number, rows = (_: number) => 100): Sample[] =>
  Array.from({ length: count }, (_, i) => ({
    minute: i + 1,
    memory: { worker: mib(i + 1) },
    rows: { events: rows(i + 1) },
  }));
const met = (verdicts: readonly { met: boolean | undefined }[]) => verdicts.map((verdict) => verdict.met);
const memoryMet = (minutes: number, mib: (minute: number) => number) => met(judgeMemory(samplesOf(minutes, mib), 40));
const rowsMet = (minutes: number, rows?: (minute: number) => number) =>
  met(
    judgeRows(
      samplesOf(minutes, () => 0, rows),
      1_320,
      10,
    ),
  );

describe('the growth of memory', () => {
  it('is the slope per hour, with an uncertainty of 0 for points on a line', () => {
    const { perHour, uncertainty } = growthOf([1, 2, 3, 4].map((minute) => ({ minute, value: 200 + 2 * minute })));
    expect(perHour).toBeCloseTo(120, 6);
    expect(uncertainty).toBeCloseTo(0, 6);
  });

  it('is uncertain if the points scatter, and unknown for two points', () => {
    const points = [10, 30, 5, 35, 15].map((value, minute) => ({ minute, value }));
    const { perHour, uncertainty } = growthOf(points);
    expect(perHour).toBeCloseTo(90, 6);
    expect(uncertainty).toBeGreaterThan(perHour);
    expect(growthOf(points.slice(0, 2)).perHour).toBeNaN();
  });

  it('is judged over the last two thirds: a warm-up of the first third does not count', () => {
    const samples = samplesOf(30, (minute) => (minute <= 10 ? 100 + 20 * minute : 300));
    expect(lastTwoThirds(samples).map(({ minute }) => minute)[0]).toBe(11);
    expect(met(judgeMemory(samples, 40))).toEqual([true]);
  });

  it('fails a leak of a MiB a minute, and passes a saw-tooth without a trend', () => {
    const sawTooth = (minute: number) => 10 * (minute % 3);
    expect(memoryMet(60, (minute) => 300 + minute + sawTooth(minute))).toEqual([false]);
    expect(memoryMet(60, (minute) => 300 + sawTooth(minute))).toEqual([true]);
  });

  it('is not judged in a run of less than half an hour, in which heaps still grow', () => {
    expect(memoryMet(20, (minute) => 300 * minute)).toEqual([undefined]);
  });
});

describe('the rows of the tables', () => {
  it('are bounded by the window of retention, once it has passed', () => {
    const window = (minute: number) => 1_320 * Math.min(minute, 11);
    expect(rowsMet(60, window)).toEqual([true]);
    expect(rowsMet(60, (minute) => 1_320 * minute)).toEqual([false]);
  });

  it('fail if the run ended before retention had to remove anything', () => {
    expect(rowsMet(5)).toEqual([false]);
  });
});

it('an acknowledged change that did not arrive is lost, unless its delivery failed or was cancelled', () => {
  const missing = (status: string | undefined) => [{ transfer: 'a', status }];
  for (const status of ['failed', 'cancelled']) expect(judgeArrivals(9, missing(status)).met).toBe(true);
  for (const status of ['succeeded', 'pending', undefined]) expect(judgeArrivals(9, missing(status)).met).toBe(false);
  expect(judgeArrivals(9, missing(undefined)).what).toContain('1 lost a (no row)');
  expect([judgeArrivals(9, []).met, judgeArrivals(0, []).met]).toEqual([true, false]);
});

it('reads its options: retention is a sixth of the minutes, and at most half of them', () => {
  expect(readSoakOptions([])).toMatchObject({ minutes: 60, rate: 22, retention: 600_000, workflows: 'every-event' });
  expect(readSoakOptions(['--minutes', '5'])).toMatchObject({ retention: 60_000 });
  expect(() => readSoakOptions(['--minutes', '5', '--retention', '3m'])).toThrow('--retention');
  expect(() => readSoakOptions(['--rate', '0'])).toThrow('--rate');
  expect(() => readSoakOptions(['--workflows', 'none'])).toThrow('--workflows');
});
