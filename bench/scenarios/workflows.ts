import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { type FloorFigures, startWorkflowFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import type { Figures } from '../measure.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, floorRates, floorTable, ratios, sumOf, tablesOf } from '../rounds.js';
import type { TemporalKind } from '../servers.js';
import { makeWarmTenant, measureChanges, withService } from '../site.js';
import { startStack } from '../stack.js';
import { median } from '../statistics.js';

const NAMES: Record<TemporalKind, string> = { dev: 'dev server', postgres: 'Temporal on Postgres' };

interface Measured {
  name: string;
  delivered: Figures[];
  bare: FloorFigures[];
  shown: FloorFigures[];
}

/** The workflows after a burst of delivered events, beside empty ones, on each kind of Temporal. */
export async function workflows(bench: Bench): Promise<Outcome> {
  const found: Measured[] = [];
  for (const kind of bench.options.temporal) found.push(await runOn(bench, kind));
  return {
    sections: [
      ...tablesOf(
        'Workflows of delivered events',
        found.map(({ name, delivered }) => [name, delivered]),
      ),
      floorTable(
        'Workflows: floor',
        found.flatMap(({ name, bare, shown }) => [
          [`bare workflow, ${name}`, bare],
          [`bare workflow with input and search attributes, ${name}`, shown],
        ]),
      ),
    ],
    verdicts: [
      ...found.map(({ name, delivered, bare, shown }) => {
        const bareRates = floorRates(bare);
        const ratio = median(ratios(column(delivered, 'workflows/s'), bareRates));
        const floor = median(ratios(floorRates(shown), bareRates));
        return atLeast(`workflows/s, delivered events ÷ bare workflow, ${name}`, ratio, 0.9, floor);
      }),
      atMost('events lost before workflows', sumOf(found.flatMap(({ delivered }) => column(delivered, 'lost'))), 0),
    ],
  };
}

async function runOn(bench: Bench, kind: TemporalKind): Promise<Measured> {
  const { rounds, workflows: count } = bench.options;
  const name = NAMES[kind];
  const measured = await during(startStack(bench.say, kind), (stack) =>
    withService(bench, stack, { workflows: 'every-event' }, async (site) => {
      const tenant = await makeWarmTenant(site);
      return during(startWorkflowFloor(site, 'bare'), (bare) =>
        during(startWorkflowFloor(site, 'shown'), (shown) =>
          inTurn(rounds, progress(bench, `workflows on ${name}`), {
            bare: () => bare.round(),
            shown: () => shown.round(),
            delivered: () => measureChanges({ ...site, tenant }, count),
          }),
        ),
      );
    }),
  );
  return { name, ...measured };
}
