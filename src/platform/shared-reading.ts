import { within } from './deadline.js';

/**
 * Shares one reading of another system between callers: one reading at a time, and its value is kept for `keep` ms. The
 * result is undefined when the reading fails or takes longer than `limit` ms. A reading that takes longer continues,
 * and the next caller waits for it.
 */
export function shareReading<T>(
  read: () => Promise<T>,
  { keep, limit }: { keep: number; limit: number },
): () => Promise<T | undefined> {
  let running: Promise<T> | undefined;
  let kept: { value: T; at: number } | undefined;
  return async () => {
    if (kept && performance.now() - kept.at < keep) return kept.value;
    running ??= read().finally(() => {
      running = undefined;
    });
    try {
      const value = await within(limit, running);
      kept = { value, at: performance.now() };
      return value;
    } catch {
      return undefined;
    }
  };
}
