import type { Bench } from '../bench.js';
import { now } from '../clock.js';
import { during } from '../ending.js';
import { measure } from '../measure.js';
import { atMost, type Outcome } from '../report.js';
import { tablesOf } from '../rounds.js';
import { makeWarmTenant, withService } from '../site.js';
import { startStack } from '../stack.js';
import { makeTransfers } from '../tenants.js';
import { countClosed, countWaiting, untilAllStarted, untilClosed } from '../workflows.js';

/**
 * Stops Temporal while changes are accepted, then starts it: measures the work without it, and the time to catch up.
 */
export async function backlog(bench: Bench): Promise<Outcome> {
  return during(startStack(bench.say), (stack) => {
    // The service would log the outage of Temporal repeatedly.
    const choice = { workflows: 'every-event', env: { LOG_LEVEL: 'error' } } as const;
    return withService(bench, stack, choice, async (site) => {
      const tenant = await makeWarmTenant(site);
      const transfers = await makeTransfers(stack, tenant, bench.options.backlog);
      const closedBefore = await countClosed(stack.temporal, 'deliverEvent');
      await stack.servers.stopTemporal();
      bench.say(`${transfers.length} changes without Temporal`);
      const figures = await measure(site, { transfers, endpointsEach: 1, untilQuiet: false });
      const waiting = await countWaiting(stack);
      bench.say('Temporal is back');
      await stack.servers.startTemporal();
      const startedAt = now();
      await untilAllStarted(stack);
      await untilClosed(stack.temporal, 'deliverEvent', closedBefore + (figures.speed.events ?? 0));
      const seconds = (now() - startedAt) / 1_000;
      const { count, repeated } = await bench.receiver.arrivals();
      const lost = (figures.speed.events ?? Number.NaN) - count;
      return {
        sections: [
          ...tablesOf('Backlog: while Temporal is stopped', [['every-event', [figures]]]),
          {
            title: 'Backlog: when Temporal is back',
            rows: [
              { what: 'workflows', waiting, 'drained in s': seconds, 'workflows/s': waiting / seconds, lost, repeated },
            ],
          },
        ],
        verdicts: [atMost('events lost while Temporal was stopped', lost, 0)],
      };
    });
  });
}
