import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/** What a request that is refused for its size counts as: as much as it costs to take in, and nobody sends it by mistake often. */
const OVERSIZED_POINTS = 5;

/**
 * So many requests a second for each client, in this process; none for the operator. The headers are those of
 * draft-ietf-httpapi-ratelimit-headers-11; they also count what a refusal uses up.
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
    const seconds = secondsOf(standing);
    ctx.set('RateLimit-Policy', `"default";q=${perSecond};w=1`);
    ctx.set('RateLimit', remaining(standing, perSecond));
    if (standing.consumedPoints > perSecond) {
      ctx.set('Retry-After', String(seconds));
      throw new Refusal('rate_limited', `A client may make ${perSecond} requests a second.`);
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

function remaining(standing: RateLimiterRes, perSecond: number): string {
  return `"default";r=${Math.max(0, perSecond - standing.consumedPoints)};t=${secondsOf(standing)}`;
}

function secondsOf({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1_000));
}
