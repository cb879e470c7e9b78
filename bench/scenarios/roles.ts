import type { Bench } from '../bench.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, withWarmSites } from '../site.js';
import { median } from '../statistics.js';

const CHOICES = {
  together: { workflows: 'retries-only', roles: undefined },
  apart: { workflows: 'retries-only', roles: { api: 1, worker: 1 } },
  doubled: { workflows: 'retries-only', roles: { api: 2, worker: 2 } },
} as const;

/** What it costs to part API and worker, and to have two processes of each on the same cores. */
export async function roles(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  return withWarmSites(bench, CHOICES, async (sites) => {
    const { together, apart, doubled } = await inTurn(rounds, progress(bench, 'roles'), {
      together: () => measureChanges(sites.together, events),
      apart: () => measureChanges(sites.apart, events),
      doubled: () => measureChanges(sites.doubled, events),
    });
    const rates = { apart: column(apart, 'delivered/s'), together: column(together, 'delivered/s') };
    return {
      sections: tablesOf('Roles, at full speed', [
        ['all in one process', together],
        ['1 API, 1 worker', apart],
        ['2 APIs, 2 workers', doubled],
      ]),
      verdicts: [
        atLeast('delivered/s, API and worker apart ÷ all in one', median(ratios(rates.apart, rates.together)), 0.95),
        atLeast(
          'delivered/s, 2 APIs and 2 workers ÷ 1 and 1',
          median(ratios(column(doubled, 'delivered/s'), rates.apart)),
          0.95,
        ),
        atMost('events lost between roles', sumOf([together, apart, doubled].flatMap((r) => column(r, 'lost'))), 0),
      ],
    };
  });
}
