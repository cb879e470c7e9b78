import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { startKoaFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import type { Figures } from '../measure.js';
import { atMost, type Outcome, type Verdict } from '../report.js';
import { column, cpuOfEvents, floorTable, tablesOf } from '../rounds.js';
import { measureChanges, WARM_UP, type WarmSite, withWarmSites } from '../site.js';
import { median } from '../statistics.js';

/**
 * A low, steady rate: response and delivery times, the cost of an event, and the least that an API of this shape costs
 * at that rate.
 */
export async function latency(bench: Bench): Promise<Outcome> {
  const { rounds, rate, steady } = bench.options;
  const choices = { retriesOnly: { workflows: 'retries-only' }, every: { workflows: 'every-event' } } as const;
  const plan = { warmUp: WARM_UP, events: steady, rate };
  return withWarmSites(bench, choices, (sites) =>
    during(startKoaFloor(sites.retriesOnly, sites.retriesOnly.tenant, plan), async (floor) => {
      const run = (site: WarmSite) => measureChanges(site, steady, { rate });
      const found = await inTurn(rounds, progress(bench, `latency at ${rate}/s`), {
        retriesOnly: () => run(sites.retriesOnly),
        every: () => run(sites.every),
        bare: () => floor.round(),
      });
      const ofFloor = (figure: string) => median(found.bare.map((round) => round[figure] ?? Number.NaN));
      return {
        sections: [
          ...tablesOf(`Latency, at ${rate}/s`, [
            ['retries-only', found.retriesOnly],
            ['every-event', found.every],
          ]),
          floorTable(`Latency, at ${rate}/s: floor`, [['bare loop behind Koa', found.bare]]),
        ],
        verdicts: [
          atMost(
            `CPU ms of the service, an event at ${rate}/s, retries-only`,
            median(serviceCpu(found.retriesOnly)),
            3,
            ofFloor('loop ms'),
          ),
          ...verdictsOf(`at ${rate}/s, retries-only`, found.retriesOnly, ofFloor),
          ...verdictsOf(`at ${rate}/s, every-event`, found.every, ofFloor),
        ],
      };
    }),
  );
}

const RESPONSE_P50 = 'response p50 ms';
const RESPONSE_P99 = 'response p99 ms';

const serviceCpu = (rounds: readonly Figures[]) =>
  cpuOfEvents(
    rounds.map(({ cost }) => cost),
    ['service', 'api', 'worker'],
  );

const verdictsOf = (where: string, rounds: readonly Figures[], ofFloor: (figure: string) => number): Verdict[] => [
  atMost(`p50 ms of the response ${where}`, median(column(rounds, RESPONSE_P50)), 4, ofFloor(RESPONSE_P50)),
  atMost(`p99 ms of the response ${where}`, median(column(rounds, RESPONSE_P99)), 12, ofFloor(RESPONSE_P99)),
  atMost(`p50 ms of the delivery ${where}`, median(column(rounds, 'p50 ms')), 5),
  atMost(`p99 ms of the delivery ${where}`, median(column(rounds, 'p99 ms')), 25),
];
