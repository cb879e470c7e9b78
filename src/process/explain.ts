import { ConfigError } from '../config.js';

/** What went wrong, for the person who ran a command: one line, or one for each mistake in the configuration. No stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.lines;
  return [oneLine(error)];
}

/** The message, or that of what lies behind it, in one line. */
export function oneLine(error: unknown): string {
  // Node tries every address of a host and wraps what each gave; the message of the whole is empty.
  if (error instanceof AggregateError && error.errors.length > 0) return oneLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  // Prisma puts the place in the code first and the reason last.
  const lines = error.message.split('\n').map((line) => line.trim());
  return lines.findLast((line) => line !== '') ?? error.name;
}
