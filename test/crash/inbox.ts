import { parseArgs } from 'node:util';
import { runInboxCrash } from './inbox-run.js';

// `npm run test:crash:inbox`: kills receivers with an inbox, the service and Postgres under load.

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: `${Date.now() % 2 ** 32}` } },
});
const say = (line: string) => process.stderr.write(`${new Date().toISOString()} ${line}\n`);
say(`seed ${values.seed}`);
const result = await runInboxCrash({ seed: Number(values.seed), seconds: Number(values.minutes) * 60, say });
console.log(JSON.stringify(result, null, 2));
const isRight =
  Object.values(result.wrong).every((transfers) => transfers.length === 0) &&
  Object.values(result.proven).every((proven) => proven);
process.exit(isRight ? 0 : 1);
