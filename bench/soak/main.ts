import { writeFileSync } from 'node:fs';
import { formatDuration } from '../../src/platform/duration.js';
import { startBench } from '../bench.js';
import { during, runToEnd } from '../ending.js';
import { describeMachine } from '../machine.js';
import { readOptions } from '../options.js';
import { startService } from '../service.js';
import { startStack } from '../stack.js';
import { readSoakOptions, type SoakOptions, USAGE } from './options.js';
import { soak } from './run.js';

// `npm run soak`: API and worker under a steady load with retention at work, for an hour. Prints memory and rows each
// minute and a verdict at the end. The exit code is 1 if memory grows, rows are not bounded, or an event is lost.

const ROLES = { api: 1, worker: 1 };

const startedAt = performance.now();
const say = (line: string) =>
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);

function optionsHere(): SoakOptions | 'help' {
  try {
    return readSoakOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

async function run(options: SoakOptions): Promise<void> {
  const machine = describeMachine();
  const { minutes, rate, workflows, retention } = options;
  const RETENTION = formatDuration(retention);
  say(`${minutes} min at ${rate}/s, ${workflows}, RETENTION=${RETENTION}; load average ${machine.loadBefore}`);
  const usual = readOptions([]);
  if (typeof usual === 'string') throw new Error(usual);
  const result = await during(startBench(usual, say), (bench) =>
    during(startStack(say, options.temporal), (stack) => {
      const starting = startService(stack, { workflows, roles: ROLES, profile: undefined, env: { RETENTION } });
      return during(starting, (service) => soak(bench, stack, service, options));
    }),
  );
  const { samples, acknowledged, errors, repeated, verdicts } = result;
  console.table(
    samples.map(({ minute, memory, rows, waiting, removed }) => ({
      minute: minute.toFixed(1),
      ...Object.fromEntries(Object.entries(memory).map(([part, mib]) => [`${part} MiB`, Math.round(mib)])),
      ...rows,
      ...{ waiting, removed },
    })),
  );
  console.log(`acknowledged ${acknowledged}, repeated ${repeated}, errors ${JSON.stringify(errors)}`);
  for (const { what, met } of verdicts)
    console.log(`${met === undefined ? 'not judged' : met ? 'ok' : 'NOT'}: ${what}`);
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ machine, options, ...result }, null, 2)}\n`);
  if (verdicts.some(({ met }) => met === false)) process.exitCode = 1;
}

const options = optionsHere();
if (options === 'help') {
  console.log(USAGE);
} else {
  await runToEnd(() => run(options));
}
