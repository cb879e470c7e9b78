import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { startKoaFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, eventsPerCore, floorTable, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, type WarmSite, withWarmSites } from '../site.js';
import { median } from '../statistics.js';

const CHOICES = {
  together: { workflows: 'retries-only', roles: undefined },
  apart: { workflows: 'retries-only', roles: { api: 1, worker: 1 } },
  doubled: { workflows: 'retries-only', roles: { api: 2, worker: 2 } },
} as const;

/** The cost of separating API and worker, and of two processes of each on the same cores; and the floor. */
export async function roles(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  return withWarmSites(bench, CHOICES, (sites) =>
    during(startFloors(sites.together), async (floors) => {
      const { together, apart, doubled, ...floor } = await inTurn(rounds, progress(bench, 'roles'), {
        together: () => measureChanges(sites.together, events),
        floorTogether: () => floors.together.round(),
        apart: () => measureChanges(sites.apart, events),
        floorApart: () => floors.apart.round(),
        doubled: () => measureChanges(sites.doubled, events),
        floorDoubled: () => floors.doubled.round(),
      });
      // The floors leave cores idle, the service does not: only the CPU of their events can be compared.
      const rates = { apart: column(apart, 'delivered/s'), together: column(together, 'delivered/s') };
      return {
        sections: [
          ...tablesOf('Roles, at full speed', [
            ['all in one process', together],
            ['1 API, 1 worker', apart],
            ['2 APIs, 2 workers', doubled],
          ]),
          floorTable('Roles: floor, a bare loop behind Koa with the record of each attempt', [
            ['all in one process', floor.floorTogether],
            ['1 API, 1 worker', floor.floorApart],
            ['2 APIs, 2 workers', floor.floorDoubled],
          ]),
        ],
        verdicts: [
          atLeast(
            'delivered/s, API and worker apart ÷ all in one',
            median(ratios(rates.apart, rates.together)),
            0.95,
            median(ratios(eventsPerCore(floor.floorApart), eventsPerCore(floor.floorTogether))),
          ),
          atLeast(
            'delivered/s, 2 APIs and 2 workers ÷ 1 and 1',
            median(ratios(column(doubled, 'delivered/s'), rates.apart)),
            0.95,
            median(ratios(eventsPerCore(floor.floorDoubled), eventsPerCore(floor.floorApart))),
          ),
          atMost('events lost between roles', sumOf([together, apart, doubled].flatMap((r) => column(r, 'lost'))), 0),
        ],
      };
    }),
  );
}

async function startFloors(site: WarmSite) {
  const together = await startKoaFloor(site, site.tenant, { shape: 'recorded' });
  const apart = await startKoaFloor(site, site.tenant, { shape: 'apart' });
  const doubled = await startKoaFloor(site, site.tenant, { shape: 'apart', apis: 2 });
  return {
    together,
    apart,
    doubled,
    async stop() {
      await Promise.all([together.stop(), apart.stop(), doubled.stop()]);
    },
  };
}
