import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { type FloorFigures, startKoaFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import { ROUTES, type Route } from '../load.js';
import type { Figures } from '../measure.js';
import { atMost, type Outcome, type Row } from '../report.js';
import { column, cpuOfEvents, ratios, sumOf } from '../rounds.js';
import { makeWarmTenant, measureChanges, type WarmSite, withService } from '../site.js';
import { type Stack, startStack } from '../stack.js';
import { median, overRounds } from '../statistics.js';
import { makeTenants, makeTokens } from '../tenants.js';

/** The table that `npm run bench:report` compares with the report before, and the column. */
export const ROUTES_TITLE = 'Routes, at full speed';
export const OF_FLOOR = 'CPU ÷ floor';

type Rounds = Record<string, (Figures | FloorFigures)[]>;

/**
 * What a change costs by each route that makes an event, with and without a key, of one client and of many: CPU,
 * statements and commits of an event. The floor is the bare loop behind Koa, in the same rounds.
 */
export function routes(bench: Bench): Promise<Outcome> {
  const settings = ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_utility=off'];
  return during(startStack(bench.say, settings), async (stack) => {
    await stack.database.query('create extension pg_stat_statements');
    const choice = { workflows: 'retries-only', env: { RATE_LIMIT: '1000000' } } as const;
    return withService(bench, stack, choice, async (site) => {
      const warm: WarmSite = { ...site, tenant: await makeWarmTenant(site) };
      return during(startKoaFloor(warm, warm.tenant), async (floor) => {
        const variants = { floor: () => floor.round(), ...(await openCells(warm)) };
        return report((await inTurn(bench.options.rounds, progress(bench, 'routes'), variants)) as Rounds);
      });
    });
  });
}

async function openCells(site: WarmSite): Promise<Record<string, () => Promise<Figures>>> {
  const { bench, stack, service } = site;
  const { events, tenants } = bench.options;
  const cells: Record<string, () => Promise<Figures>> = {};
  for (const clients of [1, Math.ceil(tenants / 10), tenants]) {
    const tenant = await makeTenants(stack, bench.receiver.origin, { clients, endpointsEach: 1 });
    const tokens = await makeTokens(stack.database, tenant, service.baseUrl);
    for (const route of Object.keys(ROUTES) as Route[]) {
      for (const keyed of [false, true]) {
        const plan = { route, keyed, ...(route !== 'operator' && { tokens }) };
        cells[`${route}${keyed ? ', keyed' : ''}, clients: ${clients}`] = () =>
          counted(stack, events, () => measureChanges({ ...site, tenant }, events, plan));
      }
    }
  }
  return cells;
}

/** Adds the statements of an event. */
async function counted(stack: Stack, events: number, work: () => Promise<Figures>): Promise<Figures> {
  const read = async () => {
    const { rows } = await stack.database.query<{ calls: string }>(
      'select sum(calls) as calls from pg_stat_statements',
    );
    return Number(rows[0]?.calls);
  };
  const before = await read();
  const { speed, cost } = await work();
  return { speed, cost: { ...cost, statements: ((await read()) - before) / events } };
}

function report({ floor, ...cells }: Rounds): Outcome {
  const floorCpu = cpuOfEvents(floor as FloorFigures[], ['loop', 'postgres']);
  const measured = Object.entries(cells as Record<string, Figures[]>);
  const rows = measured.map(([what, rounds]): Row => {
    const costs = rounds.map(({ cost }) => cost);
    const cpu = cpuOfEvents(costs, ['service', 'api', 'worker', 'postgres']);
    const { statements, commits } = overRounds(costs);
    return {
      what,
      'delivered/s': median(column(rounds, 'delivered/s')),
      'p50 ms': median(column(rounds, 'p50 ms')),
      'CPU ms': median(cpu),
      [OF_FLOOR]: median(ratios(cpu, floorCpu)),
      statements: statements ?? Number.NaN,
      commits: commits ?? Number.NaN,
    };
  });
  const ofFloor = (keyed: boolean) =>
    rows.filter(({ what }) => String(what).includes('keyed') === keyed).map((row) => Number(row[OF_FLOOR]));
  return {
    sections: [{ title: ROUTES_TITLE, rows }],
    verdicts: [
      atMost('CPU of an event, the costliest route without a key ÷ floor', Math.max(...ofFloor(false)), 1.4),
      atMost(
        'CPU of an event, with a key ÷ without, medians of the routes',
        median(ofFloor(true)) / median(ofFloor(false)),
        1.43,
      ),
      atMost('events lost by any route', sumOf(measured.flatMap(([, rounds]) => column(rounds, 'lost'))), 0),
    ],
  };
}
