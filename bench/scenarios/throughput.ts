import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { type Floor, type FloorFigures, startLoopFloor, startWorkflowFloor } from '../floor/measure-floor.js';
import { type Figures, measure } from '../measure.js';
import { atLeast, atMost, type Outcome, type Section, type Verdict } from '../report.js';
import { column, ratios, tablesOf } from '../rounds.js';
import type { ServiceOptions } from '../service.js';
import { makeWarmTenant, withService } from '../site.js';
import { type Stack, startStack } from '../stack.js';
import { median, overRounds } from '../statistics.js';
import { makeTransfers } from '../tenants.js';

/** Rounds of the service and of its floor, in turn. */
interface Mode {
  ours: Figures[];
  floor: FloorFigures[];
}

type Modes = Partial<Record<ServiceOptions['workflows'], Mode>>;

/** Half as many rounds where each is followed by its workflows. */
export const roundsOf = (workflows: ServiceOptions['workflows'], rounds: number) =>
  workflows === 'every-event' ? Math.ceil(rounds / 2) : rounds;

/**
 * Full speed in each mode beside what the same work costs at least: `throughput` and `floor`, in turn where both are
 * wanted.
 */
export async function throughput(bench: Bench): Promise<Outcome> {
  const modes: Modes = {};
  await during(startStack(bench.say), async (stack) => {
    for (const workflows of bench.options.modes) modes[workflows] = await runMode(bench, stack, workflows);
  });
  const ours = Object.entries(modes).map(([mode, { ours }]) => [mode, ours] as const);
  return {
    sections: [
      ...(bench.options.only.has('throughput') ? tablesOf('Throughput, at full speed', ours) : []),
      ...(bench.options.only.has('floor') ? [floorSection(modes)] : []),
    ],
    verdicts: bench.options.only.has('throughput') ? verdictsOf(modes) : [],
  };
}

function runMode(bench: Bench, stack: Stack, workflows: ServiceOptions['workflows']): Promise<Mode> {
  const { only, rounds, events } = bench.options;
  return withService(bench, stack, { workflows }, async (site) => {
    const tenant = await makeWarmTenant(site);
    const run = async (floor?: Floor): Promise<Mode> => {
      const mode: Mode = { ours: [], floor: [] };
      for (let round = 1; round <= roundsOf(workflows, rounds); round++) {
        bench.say(`${workflows}, round ${round}`);
        if (floor) mode.floor.push(await floor.round());
        if (!only.has('throughput')) continue;
        const transfers = await makeTransfers(stack, tenant, events);
        mode.ours.push(await measure(site, { transfers, endpointsEach: 1 }));
      }
      return mode;
    };
    if (!only.has('floor')) return run();
    const floor = workflows === 'retries-only' ? startLoopFloor(site, tenant) : startWorkflowFloor(site);
    return during(floor, run);
  });
}

function floorSection(modes: Modes): Section {
  const named = [
    ['bare loop (one statement, one POST)', modes['retries-only']?.floor],
    ['bare workflow', modes['every-event']?.floor],
  ] as const;
  const measured = named.flatMap(([what, rounds]) => (rounds ? [{ what, rounds }] : []));
  return {
    title: 'Floor',
    rows: measured.map(({ what, rounds }) => ({ what, ...overRounds(rounds) })),
    rounds: measured.flatMap(({ what, rounds }) => rounds.map((round) => ({ what, ...round }))),
  };
}

/** Issue 6, item 1. */
function verdictsOf({ 'retries-only': lane, 'every-event': every }: Modes): Verdict[] {
  const rates = (floor: readonly FloorFigures[]) => floor.map((round) => round['events/s']);
  const first = median(column(lane?.ours ?? [], 'delivered/s'));
  const lost = [lane, every].flatMap((mode) => column(mode?.ours ?? [], 'lost')).reduce((sum, value) => sum + value, 0);
  const verdicts = [
    atLeast('delivered/s, retries-only', first, 1_450),
    atLeast(
      'delivered/s, retries-only ÷ bare loop',
      median(ratios(column(lane?.ours ?? [], 'delivered/s'), rates(lane?.floor ?? []))),
      0.75,
    ),
    atLeast('delivered/s, every-event ÷ retries-only', median(column(every?.ours ?? [], 'delivered/s')) / first, 0.6),
    atLeast(
      'workflows/s, trailing ÷ bare workflow',
      median(ratios(column(every?.ours ?? [], 'workflows/s'), rates(every?.floor ?? []))),
      0.85,
    ),
    atMost('events lost at full speed', lost, 0),
  ];
  return verdicts.filter(({ value }) => !Number.isNaN(value));
}
