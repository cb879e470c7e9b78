import { writeFileSync } from 'node:fs';
import { untilSignalled } from '../src/process/signals.js';
import { type Bench, startBench } from './bench.js';
import { during, stopAll } from './ending.js';
import { estimateSeconds } from './estimate.js';
import { describeMachine } from './machine.js';
import { type Options, readOptions, type Scenario } from './options.js';
import { type Outcome, type Report, toMarkdown } from './report.js';
import { backlog } from './scenarios/backlog.js';
import { growth } from './scenarios/growth.js';
import { latency } from './scenarios/latency.js';
import { sleeping } from './scenarios/sleeping.js';
import { throughput } from './scenarios/throughput.js';

// `npm run bench`: the real service, its Postgres and Temporal, a receiver and a load generator, each its own process,
// on loopback.

const RUNS: readonly [run: (bench: Bench) => Promise<Outcome>, ...scenarios: Scenario[]][] = [
  [throughput, 'throughput', 'floor'],
  [latency, 'latency'],
  [sleeping, 'sleeping'],
  [growth, 'growth'],
  [backlog, 'backlog'],
];

const startedAt = performance.now();
const say = (line: string) =>
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);

const minutes = (scenarios: readonly Scenario[], options: Options) =>
  Math.ceil(scenarios.reduce((sum, scenario) => sum + estimateSeconds(scenario, options), 0) / 60);

async function run(options: Options): Promise<void> {
  const machine = describeMachine();
  if (machine.loadBefore > 0.5)
    say(`other work runs here (load ${machine.loadBefore}): believe the ratios, not the rates`);
  const wanted = RUNS.map(([run, ...scenarios]) => ({
    run,
    scenarios: scenarios.filter((name) => options.only.has(name)),
  }));
  say(`about ${minutes([...options.only], options)} min in all`);
  const report: Report = {
    at: new Date().toISOString(),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' ').replace(/ --$/, ''),
    machine,
    sections: [],
    verdicts: [],
  };
  try {
    await during(startBench(options, say), async (bench) => {
      for (const { run, scenarios } of wanted) {
        if (scenarios.length === 0) continue;
        say(`${scenarios.join(' and ')}: about ${minutes(scenarios, options)} min on two cores`);
        const { sections, verdicts } = await run(bench);
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
  let cutOff = false;
  const signalled = untilSignalled().then(() => {
    cutOff = true;
  });
  const done = run(options).catch((error: unknown) => {
    if (!cutOff) console.error(error);
    process.exitCode = 1;
  });
  await Promise.race([done, signalled]);
  if (cutOff) await stopAll();
  process.exit(cutOff ? 130 : undefined);
}
