import type { AppMiddleware } from '../state.js';

/** Headers of every response, unless a route overrides them: no caching, no sniffing of the media type. */
export function secureHeaders(): AppMiddleware {
  return (ctx, next) => {
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    return next();
  };
}
