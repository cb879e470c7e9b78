import { ConfigError } from '../config-error.js';

/** Explains an error to the user of a command: one line, or a line for each error in the configuration. No stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.lines;
  return [oneLine(error)];
}

/** The message of an error in one line. */
export function oneLine(error: unknown): string {
  // Node tries every address of a host and wraps the errors; its own message is empty.
  if (error instanceof AggregateError && error.errors.length > 0) return oneLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  // Prisma puts the source location first and the reason last.
  const lines = error.message.split('\n').map((line) => line.trim());
  const reason = lines.findLast((line) => line !== '') ?? error.name;
  return RAW_QUERY.exec(reason)?.[1] ?? reason;
}

/** Prisma wraps the reason for which a raw statement failed. */
const RAW_QUERY = /^Raw query failed\. Code: `[^`]*`\. Message: `(.+)`$/;
