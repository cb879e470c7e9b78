import type { Registry } from 'prom-client';
import type { Handle } from '../database/database.js';
import { countWaiting } from '../delivery/workflow-starts.js';
import { readAtScrape, readingGauges } from '../telemetry/gauges.js';

/**
 * Registers the gauges of transfers that move by themselves. They describe the whole environment. They are NaN while
 * Postgres cannot be read.
 * @param counted transfers that are counted, at most
 */
export function measureSandboxTransfers(registry: Registry, db: Handle, counted: number): void {
  const read = readAtScrape(async () => ({
    waiting: await countWaiting(db, 'sandboxTransfer', counted),
    unfinished: await countUnfinished(db, counted),
  }));
  const gauge = readingGauges(registry);
  const from = (pick: (counts: { waiting: number; unfinished: number }) => number) => async () => {
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

async function countUnfinished(db: Handle, limit: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(UNFINISHED, [limit]);
  return row?.count ?? 0;
}

const UNFINISHED = `
select count(*)::int as count from (select from sandbox_transfers where ended_at is null limit $1::int) u`;
