import type { Registry } from 'prom-client';
import { readAtScrape } from '../telemetry/at-scrape.js';
import { readingGauges } from '../telemetry/reading-gauges.js';
import type { SandboxCounts } from './sandbox-outbox.js';

/**
 * Registers the gauges of transfers that move by themselves. They describe the whole environment. They are NaN while
 * Postgres cannot be read.
 * @param counted transfers that are counted, at most
 */
export function measureSandboxTransfers(
  registry: Registry,
  count: () => Promise<SandboxCounts>,
  counted: number,
): void {
  const read = readAtScrape(count);
  const gauge = readingGauges(registry);
  const from = (pick: (counts: SandboxCounts) => number) => async () => {
    const counts = await read();
    return counts ? pick(counts) : Number.NaN;
  };
  gauge(
    'sandbox_transfers_waiting',
    `Sandbox transfers whose workflow is not started yet; counted up to ${counted}.`,
    from(({ waiting }) => waiting),
  );
  gauge(
    'sandbox_transfers_unfinished',
    `Sandbox transfers with automatic steps left; counted up to ${counted}.`,
    from(({ unfinished }) => unfinished),
  );
}
