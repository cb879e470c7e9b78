import type { Log } from '../../telemetry/log.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { currentTraceId } from '../../telemetry/traces.js';
import { routeOf } from '../route-of.js';
import type { AppMiddleware } from '../state.js';

/** Logs one line for each request and counts it. */
export function accessLog(log: Log, metrics: Pick<Metrics, 'requestStarted' | 'requestCompleted'>): AppMiddleware {
  return async (ctx, next) => {
    const startedAt = performance.now();
    metrics.requestStarted();
    await next();
    const { method, status } = ctx;
    const route = routeOf(ctx);
    const client = ctx.state.caller ?? ctx.state.tokenClient;
    const durationMs = performance.now() - startedAt;
    metrics.requestCompleted({ method, route, status, durationMs });
    log.info(
      {
        request_id: ctx.state.requestId,
        trace_id: currentTraceId(),
        method,
        route: route ?? null,
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        address: ctx.state.address,
        client_id: client?.clientId,
        secret_id: client?.secretId,
      },
      'request',
    );
  };
}
