import type Router from '@koa/router';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/** Refuses a path whose percent-encoding gives no text (RFC 3986 §2.1). */
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

/** What no route took: OPTIONS, another method (405 and `Allow`, RFC 9110 §15.5.6), or no path of ours. */
export function unrouted(router: Router): AppMiddleware {
  return (ctx) => {
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    if (methods.size === 0) throw new Refusal('not_found', 'There is nothing at this path.');
    ctx.set('Allow', [...methods, 'OPTIONS'].sort().join(', '));
    if (ctx.method !== 'OPTIONS') throw new Refusal('method_not_allowed', 'This path does not take that method.');
    ctx.status = 204;
  };
}
