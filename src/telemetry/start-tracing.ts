import type { Config } from '../config.js';
import type { Log } from './log.js';
import type { StopTracing } from './open-telemetry.js';

/** Starts tracing to OTEL_EXPORTER_OTLP_ENDPOINT. Without an endpoint OpenTelemetry's SDK is not loaded. */
export async function startTracing(
  config: Pick<Config, 'tracing' | 'environment'>,
  role: string,
  log: Log,
): Promise<StopTracing> {
  if (!config.tracing) return async () => {};
  const { startOpenTelemetry } = await import('./open-telemetry.js');
  return startOpenTelemetry(config.environment, role, log);
}
