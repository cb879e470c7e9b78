import type { Bench } from './bench.js';
import type { Load, LoadResult, Route } from './load.js';
import { coresBetween, cpuBetween, type Reading, readMemory, readMeter, walBetween } from './meter.js';
import type { Parts } from './processes.js';
import type { Arrivals, Responses } from './receiver.js';
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
  /** Each change has an `Idempotency-Key`. */
  keyed?: boolean;
  /** Unset: the operator's. */
  route?: Route;
  /** Of the transfers' clients, in turn; unset: the operator's. */
  tokens?: readonly string[];
  responses?: Responses;
  /** Not: to the last delivery only. */
  untilQuiet?: boolean;
}

/** One row of each table; NaN: does not apply. */
export interface Figures {
  speed: Record<string, number>;
  cost: Record<string, number>;
}

/** What must not happen: summed over rounds, never evened out. */
export const FAULTS = ['lost', 'repeated', 'errors'];

/** Changes each transfer's status by HTTP and follows the events to their receivers, and their workflows to the end. */
export async function measure(site: Site, plan: LoadPlan): Promise<Figures> {
  const { bench, stack, service } = site;
  const { transfers, endpointsEach, rate = 0, keyed, route, responses = 'accept', untilQuiet = true } = plan;
  const followsWorkflows = untilQuiet && (service.workflows === 'every-event' || responses === 'fail');
  // The workflows of failed events sleep.
  const workflowsEnd = followsWorkflows && responses === 'accept';
  const parts: Parts = {
    ...service.parts,
    ...stack.servers.parts,
    generator: [bench.generator.pid],
    receiver: [bench.receiver.pid],
  };
  await bench.receiver.clear(responses);
  const closedBefore = workflowsEnd ? await countClosed(stack.temporal, 'deliverEvent') : 0;
  const { connections } = bench.options;
  const tokens = plan.tokens ?? [await service.token()];
  const load: Load = { baseUrls: service.apis, tokens, transfers, connections, rate, ...{ keyed, route } };

  const before = await readMeter(parts, stack);
  const result = await bench.generator.ask<LoadResult>(load);
  await bench.receiver.untilArrived(result.accepted.length * endpointsEach);
  const delivered = await readMeter(parts, stack);
  const waiting = followsWorkflows ? await countWaiting(stack) : Number.NaN;
  if (untilQuiet) await untilAllStarted(stack);
  if (workflowsEnd) await untilClosed(stack.temporal, 'deliverEvent', closedBefore + result.accepted.length);
  const quiet = await readMeter(parts, stack);

  const speed = speedOf(result, await bench.receiver.arrivals(), endpointsEach);
  const seconds = { draining: (quiet.at - delivered.at) / 1_000, all: (quiet.at - result.startedAt) / 1_000 };
  return {
    speed: {
      ...speed,
      waiting,
      'workflows/s': waiting / seconds.draining,
      'sustained/s': followsWorkflows ? result.accepted.length / seconds.all : Number.NaN,
    },
    cost: costOf(parts, transfers.length, before, delivered, quiet),
  };
}

/** @param each deliveries that arrive of each event */
export function speedOf(
  { accepted, errors, startedAt, endedAt }: LoadResult,
  { arrivals, repeated }: Arrivals,
  each: number,
) {
  const respondedAt = new Map(accepted.map(([id, , at]) => [id, at]));
  // An arrival before its own response counts as simultaneous.
  const delays = ascending(arrivals.map(([id, at]) => Math.max(0, at - (respondedAt.get(id) ?? Number.NaN))));
  const lastAt = arrivals.reduce((last, [, at]) => Math.max(last, at), startedAt);
  return {
    events: accepted.length,
    'accepted/s': accepted.length / ((endedAt - startedAt) / 1_000),
    'delivered/s': arrivals.length / ((lastAt - startedAt) / 1_000),
    'p50 ms': percentile(delays, 0.5),
    'p99 ms': percentile(delays, 0.99),
    ...responsesOf({ accepted }),
    lost: accepted.length * each - arrivals.length,
    repeated,
    errors: Object.values(errors).reduce((sum, count) => sum + count, 0),
  };
}

/** Response times. */
export function responsesOf({
  accepted,
}: Pick<LoadResult, 'accepted'>): Record<'response p50 ms' | 'response p99 ms', number> {
  const responses = ascending(accepted.map(([, askedAt, at]) => at - askedAt));
  return { 'response p50 ms': percentile(responses, 0.5), 'response p99 ms': percentile(responses, 0.99) };
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
