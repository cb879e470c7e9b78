import { parseArgs } from 'node:util';
import { type Command, type Given, UsageError } from './command.js';
import { endSignals } from './end-signals.js';
import { harmless } from './harmless.js';

export type Commands = Readonly<Record<string, Command>>;

/**
 * Runs a command line that begins with a command's name, until it ends or a signal ends it. Node parses it: the package
 * has no dependencies. The service's CLI uses commander for its groups and generated help.
 * @returns the exit code
 */
export async function run(program: string, commands: Commands, args: readonly string[]): Promise<number> {
  const ended = new AbortController();
  // The listeners stay on: npm repeats a signal, which would end the process.
  const end = () => ended.abort(new Error('ended by a signal'));
  const signals = endSignals();
  for (const signal of signals) process.on(signal, end);
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const warn = (line: string) => process.stderr.write(`${line}\n`);
  try {
    return await runCommand(program, commands, args, { env: process.env, signal: ended.signal, print, warn });
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown };
    const isUsage = error instanceof UsageError || String(code).startsWith('ERR_PARSE_ARGS');
    warn(harmless(isUsage ? `error: ${message}` : message));
    return isUsage ? 2 : 1;
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}

function runCommand(
  program: string,
  commands: Commands,
  [name = '', ...rest]: readonly string[],
  io: Pick<Given, 'env' | 'signal' | 'print' | 'warn'>,
): Promise<number> | number {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new UsageError(`there is no command ${name}; --help lists the commands`);
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true });
  if (values.help) {
    io.print(`usage: ${program} ${name} ${command.usage}\n\n${command.summary}\n\n${command.help}`);
    return 0;
  }
  if (positionals.length > (command.positionals ?? 0)) {
    throw new UsageError(`unexpected argument ${positionals.at(-1)}; ${name} --help shows the usage`);
  }
  return command.run({ ...io, values: values as Given['values'], positionals });
}
