import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { type KoaFloorPlan, startKoaFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import type { Figures } from '../measure.js';
import { atMost, type Outcome, type Verdict } from '../report.js';
import { column, cpuOfEvents, floorTable, ratios, tablesOf } from '../rounds.js';
import { measureChanges, WARM_UP, type WarmSite, withWarmSites } from '../site.js';
import type { Stack } from '../stack.js';
import { median } from '../statistics.js';

/**
 * A low, steady rate: response and delivery times, the cost of an event, and how much of the response time
 * is Postgres flushing its log to disk; and the least that an API of this shape costs at that rate.
 */
export async function latency(bench: Bench): Promise<Outcome> {
  const { rounds, rate, steady } = bench.options;
  const choices = { retriesOnly: { workflows: 'retries-only' }, every: { workflows: 'every-event' } } as const;
  return withWarmSites(bench, choices, (sites) =>
    during(startFloors(sites.retriesOnly, { warmUp: WARM_UP, events: steady, rate }), async (floors) => {
      const run = (site: WarmSite) => measureChanges(site, steady, { rate });
      const found = await inTurn(rounds, progress(bench, `latency at ${rate}/s`), {
        retriesOnly: () => run(sites.retriesOnly),
        unflushed: () => withoutFlush(sites.retriesOnly.stack, () => run(sites.retriesOnly)),
        every: () => run(sites.every),
        bare: () => floors.bare.round(),
        recorded: () => floors.recorded.round(),
      });
      const shares = ratios(column(found.unflushed, RESPONSE_P50), column(found.retriesOnly, RESPONSE_P50)).map(
        (rest) => 1 - rest,
      );
      const ofFloor = (figure: string) => median(found.recorded.map((round) => round[figure] ?? Number.NaN));
      return {
        sections: [
          ...tablesOf(`Latency, at ${rate}/s`, [
            ['retries-only', found.retriesOnly],
            ['retries-only, commits that do not wait for the flush', found.unflushed],
            ['every-event', found.every],
          ]),
          floorTable(`Latency, at ${rate}/s: floor`, [
            ['bare loop behind Koa', found.bare],
            ['the same, and the record of each attempt', found.recorded],
          ]),
          {
            title: `Latency, at ${rate}/s: the flush`,
            rows: [{ what: 'share of the flush in the response’s p50', share: median(shares) }],
          },
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

async function startFloors(site: WarmSite, plan: Pick<KoaFloorPlan, 'warmUp' | 'events' | 'rate'>) {
  const bare = await startKoaFloor(site, site.tenant, { ...plan, shape: 'sent' });
  const recorded = await startKoaFloor(site, site.tenant, { ...plan, shape: 'recorded' });
  return {
    bare,
    recorded,
    async stop() {
      await Promise.all([bare.stop(), recorded.stop()]);
    },
  };
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

/** Runs `work` while commits return before Postgres has flushed its log. */
async function withoutFlush<Result>({ database }: Stack, work: () => Promise<Result>): Promise<Result> {
  const set = async (value: 'on' | 'off') => {
    await database.query(`alter system set synchronous_commit = ${value}`);
    await database.query('select pg_reload_conf()');
  };
  await set('off');
  try {
    return await work();
  } finally {
    await set('on');
  }
}
