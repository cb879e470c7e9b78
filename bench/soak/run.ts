import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import type { Load, LoadResult } from '../load.js';
import type { Service } from '../service.js';
import type { Stack } from '../stack.js';
import { makeTenants, makeTransfers } from '../tenants.js';
import { untilNone } from '../waiting.js';
import { countWaiting } from '../workflows.js';
import type { SoakOptions } from './options.js';
import { judgeArrivals, judgeMemory, judgeRows, type Verdict } from './verdict.js';
import { explainMissing, type Reading, readSample, runRetention } from './watch.js';

const MINUTE = 60_000;
const CLIENTS = 10;
/** At its end, a soak waits while deliveries still arrive. */
const PATIENCE = 120_000;
/** Longer than a full garbage collection, ms. */
const COLLECTION = 2_000;

interface SoakResult {
  samples: Reading[];
  acknowledged: number;
  /** Responses other than 200, by status. */
  errors: Record<string, number>;
  repeated: number;
  verdicts: Verdict[];
}

/** Loads the service minute by minute while retention runs, and judges the run at its end. */
export async function soak(bench: Bench, stack: Stack, service: Service, options: SoakOptions): Promise<SoakResult> {
  const { minutes, rate, retention, growth } = options;
  const tenants = await makeTenants(stack, bench.receiver.origin, { clients: CLIENTS, endpointsEach: 1 });
  const parts = { ...service.parts, ...stack.servers.parts };
  await bench.receiver.clear('accept');
  const acknowledged = new Set<string>();
  const errors: Record<string, number> = {};
  const samples: Reading[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < minutes * MINUTE - MINUTE / 2) {
    const began = performance.now();
    const load: Load = {
      ...{ baseUrls: service.apis, token: await service.token(), connections: bench.options.connections, rate },
      transfers: await makeTransfers(stack, tenants, rate * 60),
    };
    const result = await bench.generator.ask<LoadResult>(load);
    for (const [transfer] of result.accepted) acknowledged.add(transfer);
    for (const [status, count] of Object.entries(result.errors)) errors[status] = (errors[status] ?? 0) + count;
    await runRetention(stack);
    await untilCollected(service);
    const sample = await readSample(parts, stack, (performance.now() - startedAt) / MINUTE);
    samples.push(sample);
    const perSecond = result.accepted.length / ((performance.now() - began) / 1_000);
    bench.say(describe(sample, perSecond, errors));
  }
  await bench.receiver.untilArrived(acknowledged.size);
  const left = await untilNone(() => countWaiting(stack), { every: 500, patience: PATIENCE });
  const { arrivals, repeated } = await bench.receiver.arrivals();
  const arrived = new Set(arrivals.map(([transfer]) => transfer));
  const missing = await explainMissing(
    stack,
    [...acknowledged].filter((transfer) => !arrived.has(transfer)),
  );
  const aMinute = Math.max(rate * 60, acknowledged.size / minutes);
  const verdicts = [
    ...judgeMemory(samples, growth),
    ...judgeRows(samples, aMinute, retention / MINUTE),
    { what: `retention removes rows: ${samples.at(-1)?.removed ?? 0}`, met: (samples.at(-1)?.removed ?? 0) > 0 },
    { what: `every event has left the outbox: ${left} wait`, met: left === 0 },
    judgeArrivals(acknowledged.size, missing),
  ];
  return { samples, acknowledged: acknowledged.size, errors, repeated, verdicts };
}

/** Without a forced collection, memory depends on V8's last own one, about every twenty minutes. */
async function untilCollected(service: Service): Promise<void> {
  service.collectGarbage();
  await sleep(COLLECTION);
}

function describe(sample: Reading, perSecond: number, errors: Record<string, number>): string {
  const memory = Object.entries(sample.memory).map(([part, mib]) => `${part} ${mib.toFixed(0)}`);
  const rows = Object.entries(sample.rows).map(([table, count]) => `${count} ${table}`);
  return [
    `${sample.minute.toFixed(1)} min: ${perSecond.toFixed(1)}/s`,
    `MiB: ${memory.join(', ')}`,
    `rows: ${rows.join(', ')}, ${sample.removed} removed`,
    `${sample.waiting} waiting`,
    `Temporal's disk ${sample.temporalDiskMib.toFixed(0)} MiB`,
    `errors ${JSON.stringify(errors)}`,
  ].join('; ');
}
