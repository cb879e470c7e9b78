import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { retryAfterOf } from '../../limiter.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/**
 * The weight of a request that is refused for its size: receiving it costs that much, and a correct client rarely sends
 * one.
 */
const OVERSIZED_POINTS = 5;

/**
 * Limits each client to `perSecond` requests in this process; the operator has no limit. The headers follow
 * draft-ietf-httpapi-ratelimit-headers-11 and include the weight of a refused request.
 */
export function rateLimit(perSecond: number): AppMiddleware {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return async (ctx, next) => {
    const { caller } = ctx.state;
    if (caller.scopes.has('operator')) return next();
    const usage = await limiter.consume(caller.clientId).catch((rejection: unknown) => {
      if (rejection instanceof RateLimiterRes) return rejection;
      throw rejection;
    });
    const seconds = retryAfterOf(usage);
    ctx.set('RateLimit-Policy', `"default";q=${perSecond};w=1`);
    ctx.set('RateLimit', remaining(usage, perSecond));
    if (usage.consumedPoints > perSecond) {
      ctx.set('Retry-After', String(seconds));
      throw new Refusal('rate_limited', `A client may make at most ${perSecond} requests a second.`);
    }
    try {
      await next();
    } catch (error) {
      if (isOversized(error)) {
        ctx.set('RateLimit', remaining(await limiter.penalty(caller.clientId, OVERSIZED_POINTS - 1), perSecond));
      }
      throw error;
    }
  };
}

function isOversized(error: unknown): boolean {
  return (
    error instanceof Refusal &&
    (error.oversized || error.code === 'payload_too_large' || error.code === 'too_many_parameters')
  );
}

function remaining(usage: RateLimiterRes, perSecond: number): string {
  return `"default";r=${Math.max(0, perSecond - usage.consumedPoints)};t=${retryAfterOf(usage)}`;
}
