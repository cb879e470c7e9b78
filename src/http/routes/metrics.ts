import Router from '@koa/router';
import type { Metrics } from '../../telemetry/metrics.js';
import type { State } from '../state.js';

/** `/metrics`, in the Prometheus text format. */
export function metricsRouter(metrics: Pick<Metrics, 'registry' | 'text'>): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });
  router.get('/metrics', async (ctx) => {
    const text = await metrics.text();
    ctx.set('Content-Type', metrics.registry.contentType);
    ctx.body = text;
  });
  return router;
}
