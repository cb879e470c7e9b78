import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { during, runToEnd } from '../ending.js';
import { describeMachine } from '../machine.js';
import { type Report, toMarkdown } from '../report.js';
import { startStack } from '../stack.js';
import { type Comparison, compare } from './compare.js';
import { SCENARIOS } from './scenarios.js';
import { withService } from './site.js';

// `npm run bench:abuse`: measures what an abusive client or receiver costs another client and the service.

const NAMES = Object.keys(SCENARIOS) as (keyof typeof SCENARIOS)[];
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: NAMES.join() },
    seconds: { type: 'string', default: '10' },
    folder: { type: 'string' },
    json: { type: 'string' },
  },
});
const wanted = NAMES.filter((name) => options.only.split(',').includes(name));
const seconds = Number(options.seconds);
if (wanted.length === 0 || !(seconds >= 1)) {
  console.error(`give --only some of ${NAMES.join()}, --seconds a number from 1, --folder another built version`);
  process.exit(2);
}

const say = (line: string) => process.stderr.write(`${line}\n`);

async function run(): Promise<void> {
  const report: Report = {
    at: new Date().toISOString(),
    command: ['npm run bench:abuse --', ...process.argv.slice(2)].join(' ').replace(/ --$/, ''),
    machine: describeMachine(),
    sections: [],
    verdicts: [],
  };
  const found: Comparison[] = [];
  await during(startStack(say), async (stack) => {
    for (const name of wanted) {
      say(name);
      const scenario = SCENARIOS[name];
      try {
        found.push(
          await withService(stack, options.folder, async (service) => {
            const site = { stack, service, seconds };
            return compare(site, await scenario(site));
          }),
        );
      } catch (error) {
        say(`${name}: ${error instanceof Error ? error.stack : error}`);
      }
    }
  });
  report.sections.push({ title: 'Abuse: a victim and the service', rows: found.map(({ row }) => row) });
  report.verdicts.push(...found.flatMap(({ verdicts }) => verdicts));
  if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(toMarkdown(report));
  if (found.length < wanted.length) process.exitCode = 1;
}

await runToEnd(run);
