import { Runtime } from '@temporalio/worker';
import { freePort } from '../free-port.js';
import type { Log } from '../telemetry/log.js';

let installed: Promise<void> | undefined;
let sdkMetrics: string | undefined;

/** A scrape goes on without it after this, ms. */
const LIMIT = 1_000;

/**
 * The SDK's runtime, once in a process: our log, and our signals (it would end the worker on its own otherwise).
 * `measured`: it counts too, and has its numbers at a port of 127.0.0.1, the only way to them that the SDK offers.
 */
export function installRuntime(log: Log, measured: boolean): Promise<void> {
  installed ??= install(log, measured);
  return installed;
}

/** What the SDK counts, in Prometheus's text format; nothing where it does not count or does not answer. */
export async function readSdkMetrics(): Promise<string> {
  if (sdkMetrics === undefined) return '';
  try {
    const answer = await fetch(sdkMetrics, { signal: AbortSignal.timeout(LIMIT) });
    return answer.ok ? await answer.text() : '';
  } catch {
    return '';
  }
}

async function install(log: Log, measured: boolean): Promise<void> {
  const bindAddress = measured ? `127.0.0.1:${await freePort()}` : undefined;
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      // Else its native side writes to standard output, where `ready` is alone.
      logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } },
      ...(bindAddress && {
        metrics: {
          prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
          attachServiceName: false,
        },
      }),
    },
    logger: {
      log: (level, message, meta) => write(log, level, message, meta),
      trace: (message, meta) => write(log, 'TRACE', message, meta),
      debug: (message, meta) => write(log, 'DEBUG', message, meta),
      info: (message, meta) => write(log, 'INFO', message, meta),
      warn: (message, meta) => write(log, 'WARN', message, meta),
      error: (message, meta) => write(log, 'ERROR', message, meta),
    },
  });
  sdkMetrics = bindAddress && `http://${bindAddress}/metrics`;
}

/** The SDK's chatter is worth a debug line; its warnings keep their level. */
function write(log: Log, level: string, message: string, meta?: Record<string | symbol, unknown>): void {
  const { error, ...fields } = meta ?? {};
  const line = { ...fields, ...(error !== undefined && { err: error }), sdk: true };
  if (level === 'ERROR') log.error(line, message);
  else if (level === 'WARN') log.warn(line, message);
  else log.debug(line, message);
}
