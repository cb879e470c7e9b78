import { setTimeout as sleep } from 'node:timers/promises';
import type { Site } from './measure.js';
import { cpuBetween, readMemory, readMeter } from './meter.js';
import type { Row } from './report.js';
import type { Service } from './service.js';

const SETTLES = 10_000;
const OBSERVED = 10_000;

/**
 * Waits until the services have collected the garbage of the load before. V8 takes up to half a minute for it, which
 * the figures of a light load would include.
 */
export async function settle(services: readonly Pick<Service, 'collectGarbage'>[]): Promise<void> {
  for (const service of services) service.collectGarbage();
  await sleep(SETTLES);
}

/**
 * What service, Temporal and Postgres hold and use while nothing is asked of them; garbage of the service is collected
 * before.
 */
export async function observeIdle({ stack, service }: Site): Promise<Row> {
  const parts = { ...service.parts, ...stack.servers.parts };
  await settle([service]);
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
