import Koa from 'koa';
import type { Config } from '../config.js';
import type { Readiness } from '../process/readiness.js';
import { measureCertificates } from '../telemetry/certificate-expiry.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { measureProcess } from '../telemetry/process-gauges.js';
import { unrouted } from './middleware/known-path.js';
import { problems } from './middleware/problems.js';
import { requestId } from './middleware/request-id.js';
import { secureHeaders } from './middleware/secure-headers.js';
import { toConfigError } from './port-error.js';
import { healthRouter } from './routes/health.js';
import { metricsRouter } from './routes/metrics.js';
import { CONNECTION_LIMITS, listen } from './server.js';
import type { State } from './state.js';

export interface Operations {
  /** The URL of the port; null where METRICS_PORT is not set. */
  url: string | null;
  close(): Promise<void>;
}

/** Enough for probes and a few Prometheus servers. */
const MAX_CONNECTIONS = 100;

/**
 * Serves `/metrics`, `/healthz` and `/readyz` on METRICS_PORT, in every role, to METRICS_ALLOWED_NETWORKS only. A
 * worker has no other port.
 * @throws ConfigError where the port cannot be bound
 */
export async function listenForOperators(
  context: {
    config: Pick<Config, 'baseUrl' | 'host' | 'metrics' | 'databaseUrl' | 'databaseDirectUrl' | 'temporal'>;
    log: Log;
    metrics: Metrics;
  },
  readiness: () => Promise<Readiness>,
): Promise<Operations> {
  const { config, log, metrics } = context;
  const { baseUrl, host, metrics: settings } = config;
  if (!settings) return { url: null, close: async () => {} };
  const app = new Koa<State>();
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  measureProcess(metrics.registry, readiness);
  measureCertificates(metrics.registry, config, process.env.NODE_EXTRA_CA_CERTS);
  const router = healthRouter({ baseUrl, readiness });
  router.use(metricsRouter(metrics).routes());
  for (const middleware of [requestId(), secureHeaders(baseUrl), problems({ baseUrl, log })]) app.use(middleware);
  app.use(router.routes());
  app.use(unrouted(router));
  // Scrapers and probes connect directly: no proxy is trusted, and X-Forwarded-For is ignored.
  const address = { ...settings, host, trustedProxies: [] };
  const limits = { ...CONNECTION_LIMITS, connections: MAX_CONNECTIONS };
  const listening = await listen(app, address, limits).catch(toConfigError('METRICS_PORT', address));
  return { url: `http://localhost:${listening.port}`, close: () => listening.close() };
}
