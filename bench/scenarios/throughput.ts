import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { startKoaFloor, startLoopFloor } from '../floor/measure-floor.js';
import { inTurn, progress } from '../in-turn.js';
import { atLeast, atMost, type Outcome } from '../report.js';
import { column, cpuOfEvents, floorRates, floorTable, ratios, sumOf, tablesOf } from '../rounds.js';
import { measureChanges, type WarmSite, withWarmSites } from '../site.js';
import { median } from '../statistics.js';

/** First attempts at full speed, without workflows, beside the same work in a bare loop. */
export async function throughput(bench: Bench): Promise<Outcome> {
  const { rounds, events } = bench.options;
  return withWarmSites(bench, { retriesOnly: { workflows: 'retries-only' } }, ({ retriesOnly: site }) =>
    during(startFloors(site), async (floors) => {
      const { loop, koa, retriesOnly, keyed, delayed } = await inTurn(rounds, progress(bench, 'throughput'), {
        koa: () => floors.koa.round(),
        loop: () => floors.loop.round(),
        retriesOnly: () => measureChanges(site, events),
        keyed: () => measureChanges(site, events, { keyed: true }),
        delayed: () => measureChanges(site, events, { responses: 'accept in 1 ms' }),
      });
      const loopRates = floorRates(loop);
      const ownCpu = cpuOfEvents(
        retriesOnly.map(({ cost }) => cost),
        ['service', 'api', 'worker', 'postgres'],
      );
      const loopCpu = cpuOfEvents(loop, ['loop', 'postgres']);
      return {
        sections: [
          ...tablesOf('Throughput, at full speed', [
            ['retries-only', retriesOnly],
            ['retries-only, with Idempotency-Key', keyed],
            ['retries-only, a receiver that responds in 1 ms', delayed],
          ]),
          floorTable('Throughput: floor', [
            ['bare loop (one statement, one POST)', loop],
            ['bare loop behind Koa', koa],
          ]),
        ],
        verdicts: [
          atLeast('delivered/s, retries-only', median(column(retriesOnly, 'delivered/s')), 1_450),
          atLeast(
            'delivered/s, retries-only ÷ bare loop',
            median(ratios(column(retriesOnly, 'delivered/s'), loopRates)),
            0.85,
            median(ratios(floorRates(koa), loopRates)),
          ),
          atMost(
            'CPU of an event, service and Postgres ÷ bare loop and its Postgres',
            median(ratios(ownCpu, loopCpu)),
            1.15,
            median(ratios(cpuOfEvents(koa, ['loop', 'postgres']), loopCpu)),
          ),
          atLeast(
            'delivered/s, changes with Idempotency-Key ÷ without',
            median(ratios(column(keyed, 'delivered/s'), column(retriesOnly, 'delivered/s'))),
            0.7,
          ),
          atMost('p50 ms of the delivery at full speed', median(column(retriesOnly, 'p50 ms')), 50),
          atMost('p50 ms of the delivery to a receiver that responds in 1 ms', median(column(delayed, 'p50 ms')), 150),
          atLeast(
            'delivered/s ÷ accepted/s, a receiver that responds in 1 ms',
            median(ratios(column(delayed, 'delivered/s'), column(delayed, 'accepted/s'))),
            0.95,
          ),
          atMost('events lost at full speed', sumOf(column([...retriesOnly, ...keyed, ...delayed], 'lost')), 0),
        ],
      };
    }),
  );
}

async function startFloors(site: WarmSite) {
  const loop = await startLoopFloor(site, site.tenant);
  const koa = await startKoaFloor(site, site.tenant);
  return {
    loop,
    koa,
    async stop() {
      await Promise.all([loop.stop(), koa.stop()]);
    },
  };
}
