import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { readAtScrape } from './at-scrape.js';

/** Gauges to which prom-client gives a counter's name. promtool rejects them. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Registers Node's own metrics, and gauges of the process's dependencies, as `/readyz` reports them. */
export function measureProcess(
  registry: Registry,
  readiness: () => Promise<{ checks: { postgres: string; migrations: string; temporal: string } }>,
): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const read = readAtScrape(readiness);
  new Gauge({
    name: 'dependency_up',
    help: 'Whether this process reaches `postgres` and `temporal`, and finds the `migrations` applied.',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const checks = (await read())?.checks;
      this.set({ dependency: 'postgres' }, checks?.postgres === 'ok' ? 1 : 0);
      this.set({ dependency: 'migrations' }, checks?.migrations === 'applied' ? 1 : 0);
      this.set({ dependency: 'temporal' }, checks?.temporal === 'ok' ? 1 : 0);
    },
  });
}
