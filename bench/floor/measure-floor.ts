import { type Helper, startHelper } from '../helper.js';
import type { Site } from '../measure.js';
import { coresBetween, cpuBetween, readMeter, walBetween } from '../meter.js';
import type { Parts } from '../processes.js';
import { makeTransfers, type Tenants } from '../tenants.js';
import type { LoopPlan, Took } from './loop.js';
import type { WorkflowsPlan } from './workflows.js';

/** A floor's rate, events a second, and what an event costs there. */
export type FloorFigures = { 'events/s': number } & Record<string, number>;

/** Measures one round. The service is up and idle meanwhile. */
export interface Floor {
  round(): Promise<FloorFigures>;
  stop(): Promise<void>;
}

const WARM_UP = 300;

/** One statement and one POST for each event, on the same Postgres and receiver. */
export async function startLoopFloor(site: Site, tenant: Tenants): Promise<Floor> {
  const { bench, stack } = site;
  const helper = await startHelper('./floor/loop.js');
  const { events, connections } = bench.options;
  const endpointId = tenant.clients[0]?.endpoints[0] ?? '';
  const run = async (count: number) => {
    const plan: LoopPlan = {
      databaseUrl: stack.servers.databaseUrl.reveal(),
      origin: bench.receiver.origin,
      endpointId,
      transfers: await makeTransfers(stack, tenant, count),
      width: connections,
    };
    await bench.receiver.clear('accept');
    return observe(site, { loop: [helper.pid], receiver: [bench.receiver.pid] }, helper, plan, count);
  };
  await run(Math.min(WARM_UP, events));
  return floorOf(helper, () => run(events));
}

/** An empty workflow for each event, on the same Temporal. */
export async function startWorkflowFloor(site: Site): Promise<Floor> {
  const { bench, stack } = site;
  const helper = await startHelper('./floor/workflows.js');
  const { address, namespace } = stack.servers.temporal;
  const run = (count: number) => {
    const plan: WorkflowsPlan = { address, namespace, count };
    return observe(site, { loop: [helper.pid] }, helper, plan, count);
  };
  await run(Math.min(WARM_UP, bench.options.workflows));
  return floorOf(helper, () => run(bench.options.workflows));
}

const floorOf = (helper: Helper, round: Floor['round']): Floor => ({ round, stop: async () => helper.end() });

async function observe(
  { stack }: Site,
  own: Parts,
  helper: Helper,
  plan: LoopPlan | WorkflowsPlan,
  count: number,
): Promise<FloorFigures> {
  const parts = { ...own, ...stack.servers.parts };
  const before = await readMeter(parts, stack);
  const { startedAt, endedAt } = await helper.ask<Took>(plan);
  const after = await readMeter(parts, stack);
  const cpu = Object.entries(cpuBetween(before, after)).map(([part, ms]) => [`${part} ms`, ms / count]);
  return {
    events: count,
    'events/s': count / ((endedAt - startedAt) / 1_000),
    ...Object.fromEntries(cpu),
    'cores at work': coresBetween(before, after),
    ...walBetween(before, after, count),
  };
}
