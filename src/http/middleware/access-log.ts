import type { Log } from '../../telemetry/log.js';
import type { AppMiddleware } from '../state.js';

/** One line a request. The route's pattern, never the path or query as sent: a mistyped one may hold anything. */
export function accessLog(log: Log): AppMiddleware {
  return async (ctx, next) => {
    const begun = performance.now();
    await next();
    log.info(
      {
        request_id: ctx.state.requestId,
        method: ctx.method,
        route: (ctx as { _matchedRoute?: unknown })._matchedRoute ?? null,
        status: ctx.status,
        duration_ms: Math.round((performance.now() - begun) * 10) / 10,
        address: ctx.state.address,
        client_id: ctx.state.caller?.clientId,
      },
      'request',
    );
  };
}
