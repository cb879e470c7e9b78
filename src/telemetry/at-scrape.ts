import { shareReading } from '../shared-reading.js';

/**
 * Reads the values that a scrape needs from another system. Scrapes of several Prometheus servers, and the gauges of
 * one scrape, share one reading for 5 s. A reading may take 3 s, less than a scrape (10 s), so that a system that does
 * not respond does not cost the other metrics.
 */
export function readAtScrape<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  return shareReading(read, { keep: 5_000, limit: 3_000 });
}
