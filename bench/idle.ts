import { setTimeout as sleep } from 'node:timers/promises';
import type { Site } from './measure.js';
import { cpuBetween, readMemory, readMeter } from './meter.js';
import type { Row } from './report.js';

const SETTLES = 10_000;
const OBSERVED = 10_000;

/**
 * What service, Temporal and Postgres hold and use while nothing is asked of them; garbage of the service is collected
 * before.
 */
export async function observeIdle({ stack, service }: Site): Promise<Row> {
  const parts = { ...service.parts, ...stack.servers.parts };
  service.collectGarbage();
  await sleep(SETTLES);
  const before = await readMeter(parts, stack);
  await sleep(OBSERVED);
  const after = await readMeter(parts, stack);
  const share = (ms: number) => (100 * ms) / (after.at - before.at);
  return {
    ...Object.fromEntries(Object.entries(readMemory(parts)).map(([part, mib]) => [`${part} MiB`, mib])),
    ...Object.fromEntries(
      Object.entries(cpuBetween(before, after)).map(([part, ms]) => [`${part} % of a core`, share(ms)]),
    ),
  };
}
