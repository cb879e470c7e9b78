import type { Bench } from '../bench.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, type WarmSite, withWarmSites } from '../site.js';
import { median } from '../statistics.js';
import { discardStarts } from '../workflows.js';

/** What the start of a workflow for every event costs the first attempts of a burst. */
export async function burst(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  const choices = { retriesOnly: { workflows: 'retries-only' }, every: { workflows: 'every-event' } } as const;
  return withWarmSites(bench, choices, async (sites) => {
    const run = async (site: WarmSite) => {
      const figures = await measureChanges(site, events, { untilQuiet: false });
      // The workflows that trail would take the cores from the next measurement.
      await discardStarts(site.stack);
      return figures;
    };
    const { retriesOnly, every } = await inTurn(rounds, progress(bench, 'burst'), {
      retriesOnly: () => run(sites.retriesOnly),
      every: () => run(sites.every),
    });
    return {
      sections: tablesOf('Burst, to the last delivery', [
        ['retries-only', retriesOnly],
        ['every-event', every],
      ]),
      verdicts: [
        atLeast(
          'delivered/s in a burst, every-event ÷ retries-only',
          median(ratios(column(every, 'delivered/s'), column(retriesOnly, 'delivered/s'))),
          0.85,
        ),
        atMost('events lost in a burst', sumOf([retriesOnly, every].flatMap((mode) => column(mode, 'lost'))), 0),
      ],
    };
  });
}
