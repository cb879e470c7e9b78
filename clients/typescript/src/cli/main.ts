import { parseArgs } from 'node:util';
import { VERSION } from '../version.js';
import { check } from './check.js';
import { type Command, type Given, UsageError } from './command.js';
import { harmless } from './harmless.js';
import { listen } from './listen.js';
import { trigger } from './trigger.js';
import { verify } from './verify.js';

const NAME = 'transfer-service-client';
const COMMANDS: Readonly<Record<string, Command>> = { listen, verify, trigger, check };

const OVERVIEW = `usage: ${NAME} COMMAND [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`)
  .join('\n')}

${NAME} COMMAND --help describes a command; --version prints the release.
The exit code is 0 for success, 1 for a failure and 2 for invalid arguments.`;

/** Runs the CLI. @returns the exit code */
async function main(args: readonly string[], io: Pick<Given, 'env' | 'signal' | 'print' | 'warn'>): Promise<number> {
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === '--version') {
    io.print(name === '--version' ? VERSION : OVERVIEW);
    return args.length === 0 ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`there is no command ${name}; --help lists the commands`);
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true });
  if (values.help) {
    io.print(`usage: ${NAME} ${name} ${command.usage}\n\n${command.summary}\n\n${command.help}`);
    return 0;
  }
  if (positionals.length > (command.positionals ?? 0)) {
    throw new UsageError(`unexpected argument ${positionals.at(-1)}; ${name} --help shows the usage`);
  }
  return command.run({ ...io, values: values as Given['values'], positionals });
}

const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => ended.abort(new Error(`ended by ${signal}`)));
}
const print = (line: string) => process.stdout.write(`${line}\n`);
const warn = (line: string) => process.stderr.write(`${line}\n`);
// A reader such as `head` that has enough is no failure.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

main(process.argv.slice(2), { env: process.env, signal: ended.signal, print, warn }).then(
  (code) => {
    process.exitCode = code;
  },
  (error: Error & { code?: unknown }) => {
    const isUsage = error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS');
    warn(harmless(isUsage ? `error: ${error.message}` : error.message));
    process.exitCode = isUsage ? 2 : 1;
  },
);
