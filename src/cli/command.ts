import { Command as CommanderCommand, InvalidArgumentError } from 'commander';
import { escapeControls } from '../../clients/typescript/src/cli/harmless.js';
import { parseDuration } from '../platform/duration.js';
import { isId } from '../platform/ids.js';
import { timeOfParts } from '../platform/iso-time.js';
import { Refusal } from '../platform/refusal.js';
import { canAsk, confirm } from './terminal.js';
import type { Columns } from './view.js';

/** What a command prints: `json`, for people laid out as text. */
export interface CommandResult {
  json: object;
  /** What people see instead of `json`. */
  text?: object;
  /** A line on standard error, after the result. */
  note?: string | false;
  /** If set, the command prints its result, then this line as an error, and exits with 1. */
  failure?: string | false;
}

/** A command that prints the result of its action. Commands added to it are of the same kind. */
export class Command extends CommanderCommand {
  override createCommand(name?: string): Command {
    return new Command(name);
  }

  /** Adds `--yes`, without which the action calls `confirmed`. Without a terminal, nobody could answer it. */
  asks(): this {
    return this.option('--yes', 'do not ask; required where no terminal can ask').hook('preAction', () => {
      if (!this.opts<Asked>().yes && !canAsk()) {
        this.error('error: this command asks a person; give --yes if there is no terminal to ask on');
      }
    });
  }

  /**
   * Sets the action, adds `--json` and prints the result. Commander calls it with the arguments, options and command.
   */
  does<Args extends unknown[]>(action: (...args: Args) => Promise<CommandResult>, columns: Columns = {}): void {
    this.option('--json', 'print one JSON document and nothing else').action(async (...args: unknown[]) => {
      // See bootstrap.ts.
      process.env.PGAPPNAME ??= 'transfer-service cli';
      const { json, text = json, note, failure } = await action(...(args as Args));
      const printed = JSON.stringify(json, null, 2);
      const { render, screenHere } = await import('./view.js');
      const isJson = this.opts<{ json?: true }>().json;
      process.stdout.write(
        `${isJson ? escapeControls(printed) : render(JSON.parse(JSON.stringify(text)), columns, screenHere())}\n`,
      );
      if (note) process.stderr.write(`${note}\n`);
      if (failure) throw new Error(failure);
    });
  }
}

/** The options of a command that asks. */
export interface Asked {
  yes?: true;
}

/** @throws Error of one line unless `--yes` was given or the person at the terminal types `yes` */
export async function confirmed({ yes }: Asked, question: () => Promise<string>): Promise<void> {
  if (!yes) await confirm(await question());
}

/** A whole number. */
export function wholeNumber({ min, max }: { min: number; max: number }): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= min && number <= max)) throw new InvalidArgumentError(`Give a number from ${min} to ${max}.`);
    return number;
  };
}

/** A limit of one client or endpoint; `default` is that of the deployment. */
export type Limit = number | 'default';

export function limitWithin(range: { min: number; max: number }): (text: string) => Limit {
  return (text) => (text === 'default' ? text : wholeNumber(range)(text));
}

/** As rows have it: null is the limit of the deployment. */
export const limitOf = (limit: Limit): number | null => (limit === 'default' ? null : limit);

/** A text. @param min the fewest characters it needs, white space at its ends not counted */
export function textOf({ min = 0, max }: { min?: number; max: number }): (text: string) => string {
  return (text) => {
    if (text.trim().length >= min && [...text].length <= max) return text;
    throw new InvalidArgumentError(`Give ${min} to ${max} characters.`);
  };
}

/** A duration. @returns ms */
export function parseTime(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('Give a duration such as 30s, 24h or 7d.');
  return milliseconds;
}

/** A day, or a time with its zone. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d))?$/;

/** A time, ms since 1970, given Postgres's clock `now`: the clock of this machine may differ from the rows'. */
export type When = (now: number) => number;

/** A time, or a duration before now. */
export function parseSince(text: string): When {
  const ago = parseDuration(text);
  if (ago !== undefined) return (now) => now - ago;
  const [, day = '', timeOfDay, zone] = ISO_TIME.exec(text) ?? [];
  const time = timeOfParts(day, timeOfDay, zone);
  if (time === undefined) {
    throw new InvalidArgumentError('Give a duration such as 2h, or a time such as 2026-11-21T10:00:00Z.');
  }
  return () => time;
}

/** The id of a `thing`. A text that is not a UUID is not found, as in the API. @throws Refusal not_found */
export function idOf(thing: string): (text: string) => string {
  return (text) => {
    if (!isId(text)) throw new Refusal('not_found', `There is no such ${thing}.`);
    return text.toLowerCase();
  };
}
