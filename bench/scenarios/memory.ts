import type { Bench } from '../bench.js';
import type { Figures, Site } from '../measure.js';
import { peakMemoryOf } from '../processes.js';
import { atMost, type Outcome, type Row } from '../report.js';
import { measureChanges, withWarmSites } from '../site.js';
import { discardStarts } from '../workflows.js';

/** More workflows than the worker's cache holds (300). */
const CACHE_FILLED = 400;

/** The memory of the service, all in one process, after many events at full speed. */
export async function memory(bench: Bench): Promise<Outcome> {
  const { modes, kept: events } = bench.options;
  const rows: Row[] = [];
  for (const workflows of modes) {
    const row = await withWarmSites(bench, { site: { workflows, roles: undefined } }, async ({ site }) => {
      bench.say(`memory after ${events} events, ${workflows}`);
      const atFirst = await measureChanges(site, CACHE_FILLED);
      const { cost } = await measureChanges(site, events, { untilQuiet: false });
      await discardStarts(site.stack);
      return { what: workflows, ...memoryColumns(site, atFirst, cost) };
    });
    rows.push(row);
  }
  return {
    sections: [{ title: `Memory of the service, ${events} events`, rows }],
    verdicts: rows.map(({ what, 'after MiB': mib }) =>
      atMost(`MiB of the service after ${events} events, ${what}`, Number(mib), 300),
    ),
  };
}

const memoryColumns = ({ service }: Site, atFirst: Figures, after: Figures['cost']): Row => ({
  'before MiB': atFirst.cost['service MiB'] ?? Number.NaN,
  'after MiB': after['service MiB'] ?? Number.NaN,
  'most MiB': Math.max(...(service.parts.service ?? []).map(peakMemoryOf)),
});
