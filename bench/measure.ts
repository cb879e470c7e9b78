import type { Bench } from './bench.js';
import type { Load, LoadResult } from './load.js';
import { coresBetween, cpuBetween, type Reading, readMemory, readMeter, walBetween } from './meter.js';
import type { Parts } from './processes.js';
import type { Answers, Arrivals } from './receiver.js';
import type { Service } from './service.js';
import type { Stack } from './stack.js';
import { percentile } from './statistics.js';
import { countClosed, countWaiting, untilAllStarted, untilClosed } from './workflows.js';

/** Where a load runs. */
export interface Site {
  bench: Bench;
  stack: Stack;
  service: Service;
}

export interface LoadPlan {
  transfers: string[];
  /** Endpoints of each client: deliveries of each event. */
  endpointsEach: number;
  /** Changes a second; 0: at full speed. */
  rate?: number;
  answers?: Answers;
  /** Not: to the last delivery only. */
  untilQuiet?: boolean;
}

/** One row of each table; NaN: does not apply. */
export interface Figures {
  speed: Record<string, number>;
  cost: Record<string, number>;
}

/** What must not happen: summed over rounds, never evened out. */
export const FAULTS = ['lost', 'repeated', 'refused'];

/** Changes each transfer's status by HTTP and follows the events to their receivers, and their workflows to the end. */
export async function measure(site: Site, plan: LoadPlan): Promise<Figures> {
  const { bench, stack, service } = site;
  const { transfers, endpointsEach, rate = 0, answers = 'accept', untilQuiet = true } = plan;
  const followsWorkflows = untilQuiet && (service.workflows === 'every-event' || answers === 'refuse');
  // Those of refused events sleep.
  const workflowsEnd = followsWorkflows && answers === 'accept';
  const parts: Parts = {
    ...service.parts,
    ...stack.servers.parts,
    generator: [bench.generator.pid],
    receiver: [bench.receiver.pid],
  };
  await bench.receiver.clear(answers);
  const closedBefore = workflowsEnd ? await countClosed(stack.temporal, 'deliverEvent') : 0;
  const { connections } = bench.options;
  const load: Load = { baseUrls: service.apis, token: await service.token(), transfers, connections, rate };

  const before = await readMeter(parts, stack);
  const result = await bench.generator.ask<LoadResult>(load);
  await bench.receiver.untilArrived(result.accepted.length * endpointsEach);
  const delivered = await readMeter(parts, stack);
  const trailing = followsWorkflows ? await countWaiting(stack) : Number.NaN;
  if (untilQuiet) await untilAllStarted(stack);
  if (workflowsEnd) await untilClosed(stack.temporal, 'deliverEvent', closedBefore + result.accepted.length);
  const quiet = await readMeter(parts, stack);

  const speed = speedOf(result, await bench.receiver.arrivals(), endpointsEach);
  const seconds = { trailing: (quiet.at - delivered.at) / 1_000, all: (quiet.at - result.startedAt) / 1_000 };
  return {
    speed: {
      ...speed,
      trailing,
      'workflows/s': trailing / seconds.trailing,
      'sustained/s': followsWorkflows ? result.accepted.length / seconds.all : Number.NaN,
    },
    cost: costOf(parts, transfers.length, before, delivered, quiet),
  };
}

function speedOf(
  { accepted, refused, startedAt, endedAt }: LoadResult,
  { arrivals, repeated }: Arrivals,
  each: number,
) {
  const answeredAt = new Map(accepted.map(([id, , at]) => [id, at]));
  // An arrival before its own answer counts as one at the same moment.
  const delays = ascending(arrivals.map(([id, at]) => Math.max(0, at - (answeredAt.get(id) ?? Number.NaN))));
  const lastAt = arrivals.reduce((last, [, at]) => Math.max(last, at), startedAt);
  return {
    events: accepted.length,
    'accepted/s': accepted.length / ((endedAt - startedAt) / 1_000),
    'delivered/s': arrivals.length / ((lastAt - startedAt) / 1_000),
    'p50 ms': percentile(delays, 0.5),
    'p99 ms': percentile(delays, 0.99),
    ...answersOf({ accepted }),
    lost: accepted.length * each - arrivals.length,
    repeated,
    refused: Object.values(refused).reduce((sum, count) => sum + count, 0),
  };
}

/** How long the answers took. */
export function answersOf({
  accepted,
}: Pick<LoadResult, 'accepted'>): Record<'answer p50 ms' | 'answer p99 ms', number> {
  const answers = ascending(accepted.map(([, askedAt, at]) => at - askedAt));
  return { 'answer p50 ms': percentile(answers, 0.5), 'answer p99 ms': percentile(answers, 0.99) };
}

function costOf(parts: Parts, events: number, before: Reading, delivered: Reading, quiet: Reading) {
  const cpu = Object.entries(cpuBetween(before, quiet));
  return {
    ...Object.fromEntries(cpu.map(([part, ms]) => [`${part} ms`, ms / events])),
    'all ms': cpu.reduce((sum, [, ms]) => sum + ms, 0) / events,
    'cores at work': coresBetween(before, delivered),
    commits: (quiet.commits - before.commits) / events,
    ...walBetween(before, quiet, events),
    ...Object.fromEntries(Object.entries(readMemory(parts)).map(([part, mib]) => [`${part} MiB`, mib])),
  };
}

const ascending = (values: number[]) => values.filter(Number.isFinite).sort((a, b) => a - b);
