import Router from '@koa/router';
import Koa from 'koa';
import type { Config } from '../platform/config/config.js';
import { Refusal } from '../platform/refusal.js';
import { measureCertificates, measureProcess } from '../platform/telemetry/gauges.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import type { Readiness } from '../process/readiness.js';
import type { State } from './context.js';
import { problems, requestId, secureHeaders, unrouted } from './middleware.js';
import { problemResponse, send } from './response.js';
import { CONNECTION_LIMITS, listen, toConfigError } from './server.js';

/** Enough for probes and a few Prometheus servers. */
const MAX_CONNECTIONS = 100;

/**
 * Serves `/metrics`, `/healthz` and `/readyz` on METRICS_PORT, in every role, to METRICS_ALLOWED_NETWORKS only. A
 * worker has no other port.
 * @returns the port's URL; null where METRICS_PORT is not set
 * @throws ConfigError where the port cannot be bound
 */
export async function listenForOperators(
  context: {
    config: Pick<Config, 'baseUrl' | 'host' | 'metrics' | 'databaseUrl' | 'databaseDirectUrl' | 'temporal'>;
    log: Log;
    metrics: Metrics;
  },
  readiness: () => Promise<Readiness>,
) {
  const { config, log, metrics } = context;
  const { baseUrl, host, metrics: settings } = config;
  if (!settings) return { url: null, close: async () => {} };
  const app = new Koa<State>();
  app.silent = true;
  app.on('error', (error: unknown) => log.debug({ err: error }, 'connection fault'));
  measureProcess(metrics.registry, readiness);
  measureCertificates(metrics.registry, config, process.env.NODE_EXTRA_CA_CERTS);
  const router = new Router<State>({ strict: true, sensitive: true });
  addHealth(router, baseUrl, readiness);
  router.get('/metrics', async (ctx) => {
    const text = await metrics.text();
    ctx.set('Content-Type', metrics.registry.contentType);
    ctx.body = text;
  });
  for (const middleware of [requestId, secureHeaders(baseUrl), problems({ baseUrl, log })]) app.use(middleware);
  app.use(router.routes());
  app.use(unrouted(router));
  // Scrapers and probes connect directly: no proxy is trusted, and X-Forwarded-For is ignored.
  const address = { ...settings, baseUrl, host, trustedProxies: [] };
  const limits = { ...CONNECTION_LIMITS, connections: MAX_CONNECTIONS };
  const listening = await listen(app, address, limits).catch(toConfigError('METRICS_PORT'));
  return { url: `http://localhost:${listening.port}`, close: () => listening.close() };
}

/** `/healthz`: the process is alive; `/readyz`: the process can do its work. */
export function addHealth(router: Router<State>, baseUrl: string, readiness: () => Promise<Readiness>): void {
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const { ready, checks } = await readiness();
    if (ready) {
      ctx.body = { status: 'ready', checks };
      return;
    }
    const where = { baseUrl, path: ctx.path, requestId: ctx.state.requestId };
    send(ctx, problemResponse(new Refusal('unavailable', 'This process is not ready.'), where, { checks }));
  });
}
