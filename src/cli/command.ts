import { Command, type CommanderError } from 'commander';
import { explain } from '../process/explain.js';
import { harmless } from './view/harmless.js';
import { screenHere } from './view/screen.js';
import { render, type View } from './view/view.js';

/** What a command has to say: `json` for programs (`--json`), `text` for people. */
export interface CommandResult {
  json: unknown;
  text: View;
  /** Where the answer is that something is wrong: said in one line, and the command fails. */
  failure?: string | undefined;
}

/** Exit codes (contract, Operator's commands). */
const SUCCESS = 0;
const FAILURE = 1;
const WRONG_USE = 2;

/**
 * Gives `command` what every command has: `--json`, and its answer printed. `work` is called as commander calls an action:
 * with the arguments, then the options.
 */
export function setAction<Args extends unknown[]>(
  command: Command,
  work: (...args: Args) => Promise<CommandResult>,
): Command {
  return command.option('--json', 'print one JSON document and nothing else').action(async (...args: unknown[]) => {
    const answer = await work(...(args as Args));
    const { json } = command.opts<{ json?: true }>();
    process.stdout.write(`${json ? JSON.stringify(answer.json, null, 2) : render(answer.text, screenHere())}\n`);
    if (answer.failure !== undefined) throw new Error(answer.failure);
  });
}

/** A program whose mistakes are one line on standard error. Commands added to it inherit that. */
export function createProgram(name: string): Command {
  return new Command(name)
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      // Help that nobody asked for: `run` says in one line what was missing.
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
    if (isCommanderError(error)) return misused(error);
    for (const line of explain(error)) process.stderr.write(`${harmless(line)}\n`);
    return FAILURE;
  }
}

function misused(error: CommanderError): number {
  if (error.exitCode === 0) return SUCCESS;
  if (error.code === 'commander.help') process.stderr.write('error: give a command; --help lists them\n');
  return WRONG_USE;
}

function isCommanderError(error: unknown): error is CommanderError {
  return (
    error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
  );
}
