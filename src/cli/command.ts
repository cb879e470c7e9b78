import { Command, type CommanderError } from 'commander';
import { explain } from '../process/explain.js';
import { loadQuickly } from './load-quickly.js';
import { harmless } from './view/harmless.js';
import type { View } from './view/view.js';

/** The result of a command: `json` for programs (`--json`), `text` for people. */
export interface CommandResult {
  json: unknown;
  text: View;
  /** If set, the command prints its result, then this line as an error, and exits with 1. */
  failure?: string | undefined;
}

/** Exit codes (contract, Operator's commands). */
const SUCCESS = 0;
const FAILURE = 1;
const INVALID_ARGUMENTS = 2;

/**
 * Sets the action of `command`, adds `--json` and prints the result.
 * @param load imports the action from `src/cli/actions`: its modules dominate the start of a command, so only the
 * command that needs them loads them. Commander calls the action with the arguments, the options and the command.
 */
export function setAction<Args extends unknown[]>(
  command: Command,
  load: () => Promise<(...args: Args) => Promise<CommandResult>>,
): Command {
  return command.option('--json', 'print one JSON document and nothing else').action(async (...args: unknown[]) => {
    loadQuickly();
    // See bootstrap.ts.
    process.env.PGAPPNAME ??= 'transfer-service cli';
    const action = await load();
    const result = await action(...(args as Args));
    const { json } = command.opts<{ json?: true }>();
    process.stdout.write(`${json ? JSON.stringify(result.json, null, 2) : await renderHere(result.text)}\n`);
    if (result.failure !== undefined) throw new Error(result.failure);
  });
}

async function renderHere(text: View): Promise<string> {
  const { screenHere } = await import('./view/screen.js');
  const { render } = await import('./view/view.js');
  return render(text, screenHere());
}

/** A program that prints each error as one line on standard error. Commands added to it inherit that. */
export function createProgram(name: string): Command {
  return new Command(name)
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      // Commander prints its help on an error; `run` prints one line instead.
      writeErr: () => {},
      outputError: (text, write) => process.stderr.write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`) && write(''),
    });
}

/** Runs a command line (without node and script). Never throws. @returns the exit code */
export async function run(program: Command, args: readonly string[]): Promise<number> {
  try {
    await program.parseAsync([...args], { from: 'user' });
    return SUCCESS;
  } catch (error) {
    if (isCommanderError(error)) return exitCodeOf(error);
    for (const line of explain(error)) process.stderr.write(`${harmless(line)}\n`);
    return FAILURE;
  }
}

function exitCodeOf(error: CommanderError): number {
  if (error.exitCode === 0) return SUCCESS;
  if (error.code === 'commander.help') process.stderr.write('error: give a command; --help lists them\n');
  return INVALID_ARGUMENTS;
}

function isCommanderError(error: unknown): error is CommanderError {
  return (
    error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
  );
}
