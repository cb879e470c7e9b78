import { within } from './time-limit.js';

/**
 * What many ask for and is read elsewhere: asked for once at a time, and kept. Undefined where the reading fails or takes
 * longer than `limit`; one that takes longer goes on, and who asks next waits for that one. @param times in ms
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
