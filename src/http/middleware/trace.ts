import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { inSpan } from '../../telemetry/traces.js';
import { routeOf } from '../route-of.js';
import type { AppMiddleware } from '../state.js';

/**
 * Makes the server's span of a request, under the caller's span if the request has a `traceparent` (W3C Trace Context).
 */
export function traceRequest(): AppMiddleware {
  return (ctx, next) => {
    const attributes = { 'http.request.method': ctx.method, request_id: ctx.state.requestId };
    const options = { kind: SpanKind.SERVER, attributes, traceparent: ctx.get('traceparent') || null };
    return inSpan(ctx.method, options, async (span) => {
      await next();
      const route = routeOf(ctx);
      if (route !== undefined) span.updateName(`${ctx.method} ${route}`).setAttribute('http.route', route);
      span.setAttribute('http.response.status_code', ctx.status);
      if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    });
  };
}
