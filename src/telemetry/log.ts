import { type Logger, pino } from 'pino';
import type { Config } from '../config.js';

export type Log = Logger;

/**
 * Writes JSON lines to standard error; standard output is for `ready …` and `--json`. A `Secret` always prints as
 * `[redacted]`.
 */
export function createLog(level: Config['logLevel'], role: string): Log {
  return pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError, error: describeError },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

/** Logs name, message, stack and causes of an error, never its own fields: they may hold a request or parameters. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause instanceof Error && { cause: describeError(error.cause) }),
  };
}
