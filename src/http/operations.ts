import Koa from 'koa';
import type { Config } from '../config.js';
import type { Log } from '../telemetry/log.js';
import type { Readiness } from './dependencies.js';
import { unrouted } from './middleware/known-path.js';
import { problems } from './middleware/problems.js';
import { requestId } from './middleware/request-id.js';
import { secureHeaders } from './middleware/secure-headers.js';
import { inSettingsWords } from './port-mistake.js';
import { healthRouter } from './routes/health.js';
import { listen } from './server.js';
import type { State } from './state.js';

export interface Operations {
  /** Where it listens; null where METRICS_PORT is not set. */
  url: string | null;
  close(): Promise<void>;
}

/**
 * What the operator's own machines ask of a process, of whatever role: `/healthz` and `/readyz` on METRICS_PORT, for
 * METRICS_ALLOWED_NETWORKS alone. A worker has no other port.
 * @throws ConfigError where the port cannot be had
 */
export async function listenForOperators(
  { config, log }: { config: Pick<Config, 'baseUrl' | 'host' | 'metrics'>; log: Log },
  readiness: () => Promise<Readiness>,
): Promise<Operations> {
  const { baseUrl, host, metrics } = config;
  if (!metrics) return { url: null, close: async () => {} };
  const app = new Koa<State>();
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  const router = healthRouter({ baseUrl, readiness });
  for (const step of [requestId(), secureHeaders(), problems({ baseUrl, log })]) app.use(step);
  app.use(router.routes());
  app.use(unrouted(router));
  // Scrapers and probes come straight: nobody's X-Forwarded-For counts here.
  const place = { host, port: metrics.port, allowedNetworks: metrics.allowedNetworks, trustedProxies: [] };
  const listening = await listen(app, place).catch(inSettingsWords('METRICS_PORT', place));
  return { url: `http://localhost:${listening.port}`, close: () => listening.close() };
}
