import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { fill, readFilled } from './fill.js';
import { nodesOf, openExplained, type Plan, rowsOf } from './plans.js';
import { listQueries } from './queries.js';

// `npm run bench:lists -- --url postgresql://…/empty`: how the lists behave with a million rows. Fills a migrated,
// empty database first.

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    plans: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});
if (!options.url)
  throw new Error('give --url: a migrated database, empty or filled by this before, whose user is a superuser');

const TIMES = 9;
/** A client may request 20 lists of missing events a minute. Each round requests four for the big client. */
const TIMES_LIMITED = 4;
const pages = ({ Plan: root }: Plan) => (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);

function describe(plan: Plan): string {
  return nodesOf(plan.Plan)
    .flatMap((node) => {
      const how = node['Index Name'] ?? (node['Node Type'] === 'Seq Scan' ? `all of ${node['Relation Name']}` : '');
      if (node['Node Type'].includes('Sort')) return [`sort of ${rowsOf(node.Plans?.[0] ?? node)}`];
      return how ? [`${how} ${rowsOf(node)}`] : [];
    })
    .join(', ');
}

const client = new pg.Client({ connectionString: options.url });
await client.connect();
const { rows } = await client.query('select 1 from clients limit 1');
if (rows.length === 0) await fill(client, Number(options.rows));
const filled = await readFilled(client);
await client.end();

const database = openExplained(options.url);
const kept: Record<string, Plan[]> = {};
console.log('| query | ms (best of 9) | pages | indexes and rows touched |\n|---|---|---|---|');
for (const [name, run] of await listQueries(database, filled)) {
  if (!name.includes(options.only)) continue;
  const times: number[] = [];
  let plans: Plan[] = [];
  const asked = name.startsWith('missing events') ? TIMES_LIMITED : TIMES;
  for (let i = 0; i < asked; i++) {
    database.plans();
    const before = performance.now();
    await run(database);
    times.push(performance.now() - before);
    plans = database.plans();
  }
  kept[name] = plans;
  const touched = plans.map(describe).filter(Boolean).join('; ');
  console.log(
    `| ${name} | ${Math.min(...times).toFixed(1)} | ${plans.reduce((sum, plan) => sum + pages(plan), 0)} | ${touched} |`,
  );
}
if (options.plans) writeFileSync(options.plans, `${JSON.stringify(kept, null, 1)}\n`);
await database.close();
