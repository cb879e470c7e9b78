import type { Writable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { type Logger, pino } from 'pino';
import type { Config } from '../config/config.js';

export type Log = Logger;

/**
 * Lines that wait for the reader of the log, in characters. Node writes a pipe and a socket without blocking, so a
 * reader that stalls (a log shipper, a full disk behind it) must not make the process wait, nor fill its memory.
 */
const MOST_WAITING = 1_000_000;

/**
 * Writes JSON lines to standard error; standard output is for `ready …` and `--json`. A `Secret` always prints as
 * `[redacted]`.
 * @param onDropped called for each line that is dropped: it does not fit, or cannot be written
 */
export function createLog(
  level: Config['logLevel'],
  role: string,
  onDropped = () => {},
  output: Writable = process.stderr,
): Log {
  const counts = new LRUCache<string, { warnings: number }>(WARNINGS);
  const options = {
    level,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError, error: describeError },
    hooks: {
      logMethod(this: Logger, args: Parameters<pino.LogFn>, method: pino.LogFn, lineLevel: number) {
        const kind = lineLevel === pino.levels.values.warn ? kindOf(args) : undefined;
        if (kind === undefined) return method.apply(this, args);
        const count = counts.get(kind) ?? { warnings: 0 };
        if (count.warnings === 0) counts.set(kind, count);
        count.warnings++;
        if (count.warnings <= MOST) method.apply(this, args);
        if (count.warnings === MOST)
          method.call(this, `further warnings of this kind are left out for a minute: ${kind}`);
      },
    },
  };
  const log: Log = pino(
    options,
    boundedLines(output, onDropped, (dropped) =>
      log.warn({ dropped }, 'log lines were dropped, because the log was not read or could not be written'),
    ),
  );
  return log;
}

/** @param onFlow called when lines are written again, with the number of lines that were dropped before */
function boundedLines(output: Writable, onDropped: () => void, onFlow: (dropped: number) => void) {
  let dropped = 0;
  const drop = () => {
    dropped++;
    onDropped();
  };
  const written = (error?: Error | null) => {
    if (error) return drop();
    if (dropped === 0 || output.writableLength > 0) return;
    const count = dropped;
    dropped = 0;
    onFlow(count);
  };
  return {
    write(line: string): void {
      if (output.writableLength + line.length > MOST_WAITING) drop();
      else output.write(line, written);
    },
  };
}

/**
 * The kind of a warning about a fault: its message and its class of error. An outage repeats it for each request. Any
 * other warning has a kind of its own (undefined), because it says what happened to one delivery or endpoint.
 */
function kindOf(args: readonly unknown[]): string | undefined {
  const [fields, message] = args;
  const { err } = (fields ?? {}) as { err?: unknown };
  return err instanceof Error ? `${message} (${err.name})` : undefined;
}

/** Logs name, message, stack and causes of an error, never its own fields: they may hold a request or parameters. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name: type, message, stack, cause } = error;
  return { type, message, stack, ...(cause instanceof Error && { cause: describeError(cause) }) };
}

/** Warnings of one kind that are logged in a minute. An outage would otherwise log one for each request. */
const MOST = 10;
const WARNINGS = { max: 1_000, ttl: 60_000, ttlResolution: 0 };
