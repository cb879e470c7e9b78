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
  const choices = { lane: { workflows: 'retries-only' }, every: { workflows: 'every-event' } } as const;
  return withWarmSites(bench, choices, async (sites) => {
    const run = async (site: WarmSite) => {
      const figures = await measureChanges(site, events, { untilQuiet: false });
      // The workflows that trail would take the cores from the next measurement.
      await discardStarts(site.stack);
      return figures;
    };
    const { lane, every } = await inTurn(rounds, progress(bench, 'burst'), {
      lane: () => run(sites.lane),
      every: () => run(sites.every),
    });
    return {
      sections: tablesOf('Burst, to the last delivery', [
        ['retries-only', lane],
        ['every-event', every],
      ]),
      verdicts: [
        atLeast(
          'delivered/s in a burst, every-event ÷ retries-only',
          median(ratios(column(every, 'delivered/s'), column(lane, 'delivered/s'))),
          0.85,
        ),
        atMost('events lost in a burst', sumOf([lane, every].flatMap((mode) => column(mode, 'lost'))), 0),
      ],
    };
  });
}
