import type { AppMiddleware } from '../state.js';

/** What every answer carries unless a route says otherwise: nothing is cached, nothing is guessed. */
export function secureHeaders(): AppMiddleware {
  return (ctx, next) => {
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    return next();
  };
}
