import { within } from '../time-limit.js';

/** Scrapes of several Prometheus servers, and the gauges of one scrape, share one reading, ms. */
const KEPT = 5_000;
/** Less than a scrape may take (10 s): whatever does not answer must not cost us the rest, ms. */
const LIMIT = 3_000;

/**
 * What a scrape has to read elsewhere: asked for once at a time, kept for 5 s, undefined where it fails or takes longer
 * than 3 s.
 */
export function readAtScrape<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let running: Promise<T> | undefined;
  let kept: { value: T; at: number } | undefined;
  return async () => {
    if (kept && performance.now() - kept.at < KEPT) return kept.value;
    running ??= read().finally(() => {
      running = undefined;
    });
    try {
      const value = await within(LIMIT, running);
      kept = { value, at: performance.now() };
      return value;
    } catch {
      return undefined;
    }
  };
}
