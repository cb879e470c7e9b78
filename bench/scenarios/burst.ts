import type { Bench } from '../bench.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, type WarmSite, withWarmSites } from '../site.js';
import { median } from '../statistics.js';
import { discardStarts } from '../workflows.js';

/** Events of an earlier burst whose workflows have not started. */
const BEHIND = 2_000;

/** What a workflow for every event costs the first attempts of a burst, alone and after an earlier burst. */
export async function burst(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  const choices = { retriesOnly: { workflows: 'retries-only' }, every: { workflows: 'every-event' } } as const;
  return withWarmSites(bench, choices, async (sites) => {
    const run = async (site: WarmSite) => {
      const figures = await measureChanges(site, events, { untilQuiet: false });
      // The remaining workflows would compete with the next measurement.
      await discardStarts(site.stack);
      return figures;
    };
    const behind = async (site: WarmSite) => {
      await measureChanges(site, BEHIND, { untilQuiet: false });
      return run(site);
    };
    const { retriesOnly, every, afterBurst } = await inTurn(rounds, progress(bench, 'burst'), {
      retriesOnly: () => run(sites.retriesOnly),
      every: () => run(sites.every),
      afterBurst: () => behind(sites.every),
    });
    return {
      sections: tablesOf('Burst, to the last delivery', [
        ['retries-only', retriesOnly],
        ['every-event', every],
        [`every-event, ${BEHIND} workflows behind`, afterBurst],
      ]),
      verdicts: [
        atLeast(
          'delivered/s in a burst, every-event ÷ retries-only',
          median(ratios(column(every, 'delivered/s'), column(retriesOnly, 'delivered/s'))),
          0.85,
        ),
        atLeast(
          `delivered/s in a burst, every-event with ${BEHIND} workflows behind ÷ retries-only`,
          median(ratios(column(afterBurst, 'delivered/s'), column(retriesOnly, 'delivered/s'))),
          0.85,
        ),
        atMost(
          'events lost in a burst',
          sumOf([retriesOnly, every, afterBurst].flatMap((mode) => column(mode, 'lost'))),
          0,
        ),
      ],
    };
  });
}
