import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFrom } from '../support/random.js';
import { temporalsPostgres } from './parts.js';
import { runCrash } from './run.js';
import { planKills } from './schedule.js';

// `npm run test:crash`: runs the real service under load and kills its processes at random. See docs/reliability.md.

const USAGE = `npm run test:crash -- [--minutes M] [--seed S] [--gap SECONDS] [--rate CHANGES/S] [--json FILE]

Kills API, workers, Temporal and Postgres by a schedule that the seed repeats (default: 3 minutes, a kill every 8 s on
average, 15 changes per second); \`npm run test:crash:production\` runs on production's Temporal, and kills its Postgres too.
The exit code is 1 if anything is lost, or if the run does not end; each loss is listed.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    gap: { type: 'string', default: '8' },
    rate: { type: 'string', default: '15' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
});

async function main(): Promise<void> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const seed = Number(values.seed);
  say(`seed ${seed}`);
  const result = await runCrash({
    seed,
    plan: planKills(
      randomFrom(seed),
      Number(values.minutes) * 60_000,
      Number(values.gap) * 1_000,
      !!temporalsPostgres(),
    ),
    rate: Number(values.rate),
    hangs: true,
    patient: true,
    say,
  });
  const { faults, kills, failpoints, numbers, answers, deliveryActions } = result;
  const table = (title: string, rows: Record<string, number>) => {
    console.log(`\n${title}`);
    for (const [name, count] of Object.entries(rows)) console.log(`  ${name.padEnd(32)} ${String(count).padStart(7)}`);
  };
  const total = [...Object.values(kills), ...Object.values(failpoints)].reduce((sum, count) => sum + count, 0);
  table(`${total} kills`, kills);
  table('deaths at failpoints (0: no process has passed it)', failpoints);
  table('result', numbers);
  table('responses to changes (0: none)', answers);
  table('responses to retries, disables, enables and recoveries', deliveryActions);
  console.log(`\nlost or untrue: ${faults.length}`);
  for (const fault of faults.slice(0, 50)) console.log(`  ${fault}`);
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ ...result, total }, null, 2)}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

if (values.help) console.log(USAGE);
else {
  // Its processes end with this one.
  await main().catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
}
