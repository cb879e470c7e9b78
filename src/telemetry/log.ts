import { type Logger, pino } from 'pino';
import type { Config } from '../config.js';

export type Log = Logger;

/** JSON lines on standard error (standard output belongs to `ready …` and to `--json`). Secrets print as `[redacted]` by construction. */
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

/** Name, message and stack, and the chain of causes; never an error's own fields, which may hold a request or parameters. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause instanceof Error && { cause: describeError(error.cause) }),
  };
}
