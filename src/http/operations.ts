import Koa from 'koa';
import type { Config } from '../config.js';
import type { Readiness } from '../process/readiness.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { measureProcess } from '../telemetry/process-gauges.js';
import { unrouted } from './middleware/known-path.js';
import { problems } from './middleware/problems.js';
import { requestId } from './middleware/request-id.js';
import { secureHeaders } from './middleware/secure-headers.js';
import { inSettingsWords } from './port-error.js';
import { healthRouter } from './routes/health.js';
import { metricsRouter } from './routes/metrics.js';
import { CONNECTION_LIMITS, listen } from './server.js';
import type { State } from './state.js';

export interface Operations {
  /** Where it listens; null where METRICS_PORT is not set. */
  url: string | null;
  close(): Promise<void>;
}

/** Probes and a few Prometheus servers. */
const MAX_CONNECTIONS = 100;

/**
 * What the operator's own machines ask of a process, of whatever role: `/metrics`, `/healthz` and `/readyz` on METRICS_PORT,
 * for METRICS_ALLOWED_NETWORKS alone. A worker has no other port.
 * @throws ConfigError where the port cannot be had
 */
export async function listenForOperators(
  context: { config: Pick<Config, 'baseUrl' | 'host' | 'metrics'>; log: Log; metrics: Metrics },
  readiness: () => Promise<Readiness>,
): Promise<Operations> {
  const { config, log, metrics } = context;
  const { baseUrl, host, metrics: place } = config;
  if (!place) return { url: null, close: async () => {} };
  const app = new Koa<State>();
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  measureProcess(metrics.registry, readiness);
  const router = healthRouter({ baseUrl, readiness });
  router.use(metricsRouter(metrics).routes());
  for (const step of [requestId(), secureHeaders(), problems({ baseUrl, log })]) app.use(step);
  app.use(router.routes());
  app.use(unrouted(router));
  // Scrapers and probes come straight: nobody's X-Forwarded-For counts here.
  const at = { ...place, host, trustedProxies: [] };
  const limits = { ...CONNECTION_LIMITS, connections: MAX_CONNECTIONS };
  const listening = await listen(app, at, limits).catch(inSettingsWords('METRICS_PORT', at));
  return { url: `http://localhost:${listening.port}`, close: () => listening.close() };
}
