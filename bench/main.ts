import { writeFileSync } from 'node:fs';
import { type Bench, startBench } from './bench.js';
import { during, runToEnd } from './ending.js';
import { describeMachine } from './machine.js';
import { type Options, readOptions, SCENARIOS, type Scenario } from './options.js';
import { type Outcome, type Report, toMarkdown } from './report.js';
import { latency } from './scenarios/latency.js';
import { roles } from './scenarios/roles.js';
import { routes } from './scenarios/routes.js';
import { scale } from './scenarios/scale.js';
import { throughput } from './scenarios/throughput.js';

// `npm run bench`: the real service, its Postgres and Temporal, a receiver and a load generator, each its own process,
// on loopback.

const RUNS: Readonly<Record<Scenario, (bench: Bench) => Promise<Outcome>>> = {
  throughput,
  routes,
  roles,
  latency,
  scale,
};

// Each stack and each service stops at the end of this process, and several stand side by side.
process.setMaxListeners(50);

const startedAt = performance.now();
const say = (line: string) =>
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);

async function run(options: Options): Promise<void> {
  const machine = describeMachine();
  if (machine.loadBefore > 0.5)
    say(`other work runs here (load ${machine.loadBefore}): trust the ratios, not the rates`);
  const report: Report = {
    at: new Date().toISOString(),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' ').replace(/ --$/, ''),
    machine,
    sections: [],
    verdicts: [],
  };
  try {
    await during(startBench(options, say), async (bench) => {
      for (const scenario of SCENARIOS.filter((name) => options.only.has(name))) {
        say(scenario);
        const { sections, verdicts } = await RUNS[scenario](bench);
        report.sections.push(...sections);
        report.verdicts.push(...verdicts);
      }
    });
  } finally {
    // Also of a long run that failed at its end.
    if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    if (report.sections.length > 0) console.log(toMarkdown(report));
  }
  if (report.verdicts.some(({ what, met }) => what.startsWith('events lost') && !met)) process.exitCode = 1;
}

/** An error in the options is reported in one line. */
function optionsHere(): Options | string {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

const options = optionsHere();
if (typeof options === 'string') {
  console.log(options);
} else {
  await runToEnd(() => run(options));
}
