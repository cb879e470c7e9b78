/** A step from one bucket to the next: an estimate is at most an eighth off. */
const FACTOR = 1.25;

/** Attempts counted by the time to the response's head: the number of attempts in each bucket. */
export type AnswerTimes = readonly number[];

/** The bucket of a time in ms. An attempt takes at most 16 s, so that there are at most 45 buckets. */
export function bucketOf(ms: number): number {
  return Math.max(0, Math.round(Math.log(Math.max(1, ms)) / Math.log(FACTOR)));
}

/**
 * The time that the share `quantile` of the attempts did not exceed.
 * @returns whole ms, with two significant digits; null if no attempt was counted
 */
export function quantileOf(times: AnswerTimes, quantile: number): number | null {
  const total = times.reduce((sum, count) => sum + count, 0);
  let left = Math.ceil(total * quantile);
  for (const [bucket, count] of times.entries()) {
    left -= count;
    if (count > 0 && left <= 0) return Math.round(Number((FACTOR ** bucket).toPrecision(2)));
  }
  return null;
}

/** Adds the counts of several hours. */
export function sumOf(all: readonly AnswerTimes[]): AnswerTimes {
  const longest = Math.max(0, ...all.map((times) => times.length));
  return Array.from({ length: longest }, (_, bucket) => all.reduce((sum, times) => sum + (times[bucket] ?? 0), 0));
}
