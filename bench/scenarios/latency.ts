import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { measure } from '../measure.js';
import { atMost, type Outcome } from '../report.js';
import { column, type Measured, tablesOf } from '../rounds.js';
import { makeWarmTenant, withService } from '../site.js';
import { startStack } from '../stack.js';
import { makeTransfers } from '../tenants.js';

/** A steady, low rate: how soon an event is there. */
export async function latency(bench: Bench): Promise<Outcome> {
  const { modes, rate, steady } = bench.options;
  const measured = await during(startStack(bench.say), async (stack) => {
    const found: Measured[] = [];
    for (const workflows of modes) {
      const figures = await withService(bench, stack, { workflows }, async (site) => {
        const tenant = await makeWarmTenant(site);
        bench.say(`${workflows}, ${rate}/s`);
        return measure(site, { transfers: await makeTransfers(stack, tenant, steady), endpointsEach: 1, rate });
      });
      found.push([workflows, [figures]]);
    }
    return found;
  });
  const verdicts = measured.flatMap(([mode, rounds]) => [
    atMost(`p50 ms at ${rate}/s, ${mode}`, column(rounds, 'p50 ms')[0] ?? Number.NaN, 5),
    atMost(`p99 ms at ${rate}/s, ${mode}`, column(rounds, 'p99 ms')[0] ?? Number.NaN, 25),
  ]);
  return { sections: tablesOf(`Latency, at ${rate}/s`, measured), verdicts };
}
