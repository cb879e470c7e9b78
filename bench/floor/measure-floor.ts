import { type Helper, startHelper } from '../helper.js';
import type { Load, LoadResult } from '../load.js';
import { responsesOf, type Site } from '../measure.js';
import { coresBetween, cpuBetween, readMeter, walBetween } from '../meter.js';
import type { Parts } from '../processes.js';
import { makeTransfers, type Tenants } from '../tenants.js';
import type { EventWorkPlan } from './event-work.js';
import type { KoaAnswer, KoaQuestion } from './koa.js';
import type { LoopPlan, Took } from './loop.js';

/** A floor's rate, events a second, and the cost of an event. */
export type FloorFigures = { 'events/s': number } & Record<string, number>;

/** Measures one round beside the idle service. */
export interface Floor {
  round(): Promise<FloorFigures>;
  stop(): Promise<void>;
}

const WARM_UP = 300;

/** One statement and one POST for each event, on the same Postgres and receiver. */
export async function startLoopFloor(site: Site, tenant: Tenants): Promise<Floor> {
  const { bench, stack } = site;
  const helper = await startHelper('./floor/loop.js');
  const { events } = bench.options;
  const run = async (count: number) => {
    const plan: LoopPlan = { ...planOf(site, tenant), transfers: await makeTransfers(stack, tenant, count) };
    await bench.receiver.clear('accept');
    return observe(site, { loop: [helper.pid], receiver: [bench.receiver.pid] }, count, () => helper.ask<Took>(plan));
  };
  await run(Math.min(WARM_UP, events));
  return floorOf([helper], () => run(events));
}

export interface KoaFloorPlan {
  /** Warm-up events, and events of a round. */
  warmUp: number;
  events: number;
  /** Changes a second; 0: at full speed. */
  rate: number;
}

/** The bare loop's work for each event, behind Koa and its router, under the service's own load. */
export async function startKoaFloor(site: Site, tenant: Tenants, plan: Partial<KoaFloorPlan> = {}): Promise<Floor> {
  const defaults = { warmUp: WARM_UP, events: site.bench.options.events, rate: 0 };
  const { warmUp, events, rate: steady } = { ...defaults, ...plan };
  const { bench, stack } = site;
  const server = await startHelper('./floor/koa.js');
  const { connections } = bench.options;
  const run = async (count: number, rate: number) => {
    const transfers = await makeTransfers(stack, tenant, count);
    await bench.receiver.clear('accept');
    const open: KoaQuestion = { open: planOf(site, tenant) };
    const { port } = await server.ask<KoaAnswer>(open);
    const load: Load = { baseUrls: [`http://127.0.0.1:${port}`], tokens: ['none'], transfers, connections, rate };
    const parts = { loop: [server.pid], receiver: [bench.receiver.pid], generator: [bench.generator.pid] };
    return observe(site, parts, count, async () => {
      const result = await bench.generator.ask<LoadResult>(load);
      const { at: endedAt } = await server.ask<KoaAnswer>({ close: true } satisfies KoaQuestion);
      return { startedAt: result.startedAt, endedAt, figures: responsesOf(result) };
    });
  };
  await run(Math.min(warmUp, 3 * events), 0);
  return floorOf([server], () => run(events, steady));
}

function planOf({ bench, stack }: Site, tenant: Tenants): EventWorkPlan {
  return {
    databaseUrl: stack.servers.databaseUrl.reveal(),
    origin: bench.receiver.origin,
    endpointId: tenant.clients[0]?.endpoints[0] ?? '',
    width: bench.options.connections,
  };
}

const floorOf = (helpers: readonly Helper[], round: Floor['round']): Floor => ({
  round,
  async stop() {
    for (const helper of helpers) helper.end();
  },
});

async function observe(
  { stack }: Site,
  own: Parts,
  count: number,
  work: () => Promise<Took & { figures?: Record<string, number> }>,
): Promise<FloorFigures> {
  const parts = { ...own, ...stack.servers.parts };
  const before = await readMeter(parts, stack);
  const { startedAt, endedAt, figures } = await work();
  const after = await readMeter(parts, stack);
  const cpu = Object.entries(cpuBetween(before, after)).map(([part, ms]) => [`${part} ms`, ms / count]);
  return {
    events: count,
    'events/s': count / ((endedAt - startedAt) / 1_000),
    ...figures,
    ...Object.fromEntries(cpu),
    'cores at work': coresBetween(before, after),
    ...walBetween(before, after, count),
  };
}
