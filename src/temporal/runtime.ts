import { Runtime } from '@temporalio/worker';
import { freePort } from '../free-port.js';
import type { Log } from '../telemetry/log.js';

let installed: Promise<void> | undefined;
let sdkMetrics: string | undefined;

/** A scrape continues without the SDK's metrics after this, ms. */
const LIMIT = 1_000;

/**
 * Installs the SDK's runtime, once in a process. It writes to our log and leaves signals to us; by default the SDK ends
 * the worker at a signal.
 * @param measured whether the SDK serves its metrics at a port of 127.0.0.1, the only way that the SDK offers to read
 * them
 */
export function installRuntime(log: Log, measured: boolean): Promise<void> {
  installed ??= install(log, measured);
  return installed;
}

/** The SDK's metrics in Prometheus's text format. Empty when it has none or does not respond. */
export async function readSdkMetrics(): Promise<string> {
  if (sdkMetrics === undefined) return '';
  try {
    const response = await fetch(sdkMetrics, { signal: AbortSignal.timeout(LIMIT) });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

async function install(log: Log, measured: boolean): Promise<void> {
  const bindAddress = measured ? `127.0.0.1:${await freePort()}` : undefined;
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      // Without this the SDK's native part writes to standard output, which is for the line `ready` alone.
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

/** The SDK's warnings and errors keep their level. Its other lines become debug lines. */
function write(log: Log, level: string, message: string, meta?: Record<string | symbol, unknown>): void {
  const { error, ...fields } = meta ?? {};
  const line = { ...fields, ...(error !== undefined && { err: error }), sdk: true };
  if (level === 'ERROR') log.error(line, message);
  else if (level === 'WARN') log.warn(line, message);
  else log.debug(line, message);
}
