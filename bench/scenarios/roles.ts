import type { Bench } from '../bench.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, withWarmSites } from '../site.js';
import { median } from '../statistics.js';

const DELIVERED = 'delivered/s';
const CHOICES = {
  together: { workflows: 'retries-only', roles: undefined },
  apart: { workflows: 'retries-only', roles: { api: 1, worker: 1 } },
  doubled: { workflows: 'retries-only', roles: { api: 2, worker: 2 } },
} as const;

/** The cost of separating API and worker, and of two processes of each on the same cores. */
export async function roles(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  return withWarmSites(bench, CHOICES, async (sites) => {
    const { together, apart, doubled } = await inTurn(rounds, progress(bench, 'roles'), {
      together: () => measureChanges(sites.together, events),
      apart: () => measureChanges(sites.apart, events),
      doubled: () => measureChanges(sites.doubled, events),
    });
    const rate = { together: column(together, DELIVERED), apart: column(apart, DELIVERED) };
    return {
      sections: tablesOf('Roles, at full speed', [
        ['all in one process', together],
        ['1 API, 1 worker', apart],
        ['2 APIs, 2 workers', doubled],
      ]),
      verdicts: [
        atLeast('delivered/s, API and worker apart ÷ all in one', median(ratios(rate.apart, rate.together)), 0.95),
        atLeast(
          'delivered/s, 2 APIs and 2 workers ÷ 1 and 1',
          median(ratios(column(doubled, DELIVERED), rate.apart)),
          0.95,
        ),
        atMost('events lost between roles', sumOf([together, apart, doubled].flatMap((r) => column(r, 'lost'))), 0),
      ],
    };
  });
}
