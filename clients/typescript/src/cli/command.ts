import type { ParseArgsOptionsConfig } from 'node:util';

/** The values of the options that were given. */
export type Values = Record<string, string | boolean | undefined>;

/** What a command gets. */
export interface Given {
  values: Values;
  positionals: string[];
  env: NodeJS.ProcessEnv;
  /** Aborts when the process is asked to end. */
  signal: AbortSignal;
  /** Writes a line to standard output. */
  print(line: string): void;
  /** Writes a line to standard error. */
  warn(line: string): void;
}

/** A command of the CLI. */
export interface Command {
  /** What it does, in one line. */
  summary: string;
  /** The lines of `--help` below the usage. */
  help: string;
  /** What follows the command's name, such as `ENDPOINT [options]`. */
  usage: string;
  options: ParseArgsOptionsConfig;
  /** How many arguments it takes, options not counted; default: none. */
  positionals?: number;
  /** @returns the exit code */
  run(given: Given): Promise<number>;
}

/** Invalid arguments: the exit code is 2. */
export class UsageError extends Error {}

/** @throws UsageError if the option was not given */
export function required(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new UsageError(`give --${name}`);
  return value;
}

/** A whole number of an option. @throws UsageError */
export function count(
  values: Values,
  name: string,
  { byDefault, least = 1, most }: { byDefault: number; least?: number; most: number },
): number {
  const value = values[name];
  if (value === undefined) return byDefault;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= least && number <= most)) throw new UsageError(`--${name} must be a number from ${least} to ${most}`);
  return number;
}
