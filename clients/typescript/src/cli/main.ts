import { VERSION } from '../version.js';
import { check } from './check.js';
import { forward } from './forward.js';
import { listen } from './listen.js';
import { type Commands, run } from './run.js';
import { trigger } from './trigger.js';
import { verify } from './verify.js';
import { verifyStatementCommand } from './verify-statement.js';

const NAME = 'transfer-service-client';
const COMMANDS: Commands = {
  listen,
  forward,
  verify,
  trigger,
  check,
  'verify-statement': verifyStatementCommand,
};

const OVERVIEW = `usage: ${NAME} COMMAND [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(16)} ${summary}`)
  .join('\n')}

${NAME} COMMAND --help describes a command; --version prints the release.
The exit code is 0 for success, 1 for a failure and 2 for invalid arguments.`;

// A reader such as `head` that has enough is no failure.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

const args = process.argv.slice(2);
const [name = '--help'] = args;
if (['--help', '-h', '--version'].includes(name)) {
  process.stdout.write(`${name === '--version' ? VERSION : OVERVIEW}\n`);
  process.exitCode = args.length === 0 ? 2 : 0;
} else {
  process.exitCode = await run(NAME, COMMANDS, args);
}
