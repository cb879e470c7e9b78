import type Router from '@koa/router';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/** Refuses a path whose percent-encoding cannot be decoded (RFC 3986 §2.1). */
export function decodablePath(): AppMiddleware {
  return (ctx, next) => {
    try {
      decodeURIComponent(ctx.path);
    } catch {
      throw new Refusal('malformed_request', 'The path cannot be decoded.');
    }
    return next();
  };
}

/**
 * Handles requests that no route matched: OPTIONS, another method (405 and `Allow`, RFC 9110 §15.5.6), unknown paths.
 */
export function unrouted(router: Router): AppMiddleware {
  return (ctx) => {
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    if (methods.size === 0) throw new Refusal('not_found', 'The API has no such path.');
    ctx.set('Allow', [...methods, 'OPTIONS'].sort().join(', '));
    if (ctx.method !== 'OPTIONS')
      throw new Refusal('method_not_allowed', 'This path does not support the method of the request.');
    ctx.status = 204;
  };
}
