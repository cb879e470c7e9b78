import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/**
 * So many requests a second for each client, in this process; none for the operator. The headers are those of
 * draft-ietf-httpapi-ratelimit-headers-11.
 */
export function rateLimit(perSecond: number): AppMiddleware {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return async (ctx, next) => {
    const { caller } = ctx.state;
    if (caller.scopes.has('operator')) return next();
    const standing = await limiter.consume(caller.clientId).catch((rejection: unknown) => {
      if (rejection instanceof RateLimiterRes) return rejection;
      throw rejection;
    });
    const seconds = Math.max(1, Math.ceil(standing.msBeforeNext / 1_000));
    ctx.set({
      'RateLimit-Policy': `"default";q=${perSecond};w=1`,
      RateLimit: `"default";r=${standing.remainingPoints};t=${seconds}`,
    });
    if (standing.consumedPoints <= perSecond) return next();
    ctx.set('Retry-After', String(seconds));
    throw new Refusal('rate_limited', `A client may make ${perSecond} requests a second.`);
  };
}
