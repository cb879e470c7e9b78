import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Report } from './report.js';
import { OF_FLOOR, ROUTES_TITLE } from './scenarios/routes.js';

// `npm run bench:report -- FILE`: compares what an event costs by each route with the report before (bench/routes.json),
// as a multiple of its floor of the same rounds. Exit 1 where a route got worse; else this report becomes the one before.

const KEPT = 'bench/routes.json';
/** Rounds on a shared machine scatter by a tenth. */
const WORSE = 1.15;

type Ratios = Record<string, number>;

/** The routes whose CPU, as a multiple of its floor, grew by more than 15 %. */
export function worse(before: Ratios, after: Ratios): string[] {
  return Object.entries(after)
    .filter(([what, ratio]) => ratio > (before[what] ?? Number.POSITIVE_INFINITY) * WORSE)
    .map(([what, ratio]) => `${what}: ${ratio.toFixed(2)} times its floor, ${before[what]?.toFixed(2)} before`);
}

export function ratiosOf(report: Pick<Report, 'sections'>): Ratios {
  const rows = report.sections.find(({ title }) => title === ROUTES_TITLE)?.rows ?? [];
  return Object.fromEntries(
    rows.map(({ what, [OF_FLOOR]: ratio }) => [String(what), Number(Number(ratio).toFixed(3))]),
  );
}

function main([file]: readonly string[]): void {
  if (!file) throw new Error('give the file that `npm run bench -- --only routes --json FILE` wrote');
  const after = ratiosOf(JSON.parse(readFileSync(file, 'utf8')) as Report);
  if (Object.keys(after).length === 0) throw new Error(`${file} has no routes: run the bench with --only routes`);
  const before = existsSync(KEPT) ? (JSON.parse(readFileSync(KEPT, 'utf8')) as Ratios) : {};
  const faults = worse(before, after);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  else writeFileSync(KEPT, `${JSON.stringify(after, null, 2)}\n`);
}

if (import.meta.filename === process.argv[1]) main(process.argv.slice(2));
