import { shareReading } from '../shared-reading.js';

/**
 * What a scrape has to read elsewhere. Scrapes of several Prometheus servers, and the gauges of one scrape, share one reading
 * for 5 s. A reading has 3 s, less than a scrape may take (10 s): what does not answer must not cost the rest.
 */
export function readAtScrape<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  return shareReading(read, { keep: 5_000, limit: 3_000 });
}
