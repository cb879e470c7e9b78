import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Limiter, retryAfterOf } from '../platform/database/limits.js';
import { hostNetwork } from '../platform/networks.js';
import { Refusal } from '../platform/refusal.js';
import type { AppContext, AppMiddleware } from './context.js';

/**
 * The weight of a request that is refused for its size: receiving it costs that much, and a correct client rarely sends
 * one.
 */
const OVERSIZED_POINTS = 5;

/**
 * Counts a request, and then runs it. `key` is the client or the address that it counts for. A `points` above the whole
 * limit is lowered to it.
 * @throws Refusal rate_limited
 */
export type RateLimit = (
  ctx: AppContext,
  counted: { key: string; points: number },
  next: () => Promise<void>,
) => Promise<void>;

/**
 * Gives each key `perSecond` points in this process. A request of the API is one. The headers follow
 * draft-ietf-httpapi-ratelimit-headers-11 and include the weight of a refused request.
 */
export function rateLimit(perSecond: number): RateLimit {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return async (ctx, { key, points }, next) => {
    const usage = await limiter.consume(key, Math.min(points, perSecond)).catch((rejection: unknown) => {
      if (rejection instanceof RateLimiterRes) return rejection;
      throw rejection;
    });
    const seconds = retryAfterOf(usage);
    ctx.set('RateLimit-Policy', `"default";q=${perSecond};w=1`);
    ctx.set('RateLimit', remaining(usage, perSecond));
    if (usage.consumedPoints > perSecond) {
      ctx.set('Retry-After', String(seconds));
      throw new Refusal(
        'rate_limited',
        `A client may make at most ${perSecond} requests a second; a page of the console counts as several.`,
      );
    }
    try {
      await next();
    } catch (error) {
      if (isOversized(error)) {
        ctx.set('RateLimit', remaining(await limiter.penalty(key, OVERSIZED_POINTS - 1), perSecond));
      }
      throw error;
    }
  };
}

/** Limits each client's requests to the API. The operator has no limit. */
export function limitClients(limit: RateLimit): AppMiddleware {
  return (ctx, next) => {
    const { clientId, scopes } = ctx.state.caller;
    return scopes.has('operator') ? next() : limit(ctx, { key: clientId, points: 1 }, next);
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

/** A client reads the documents when it starts and the signing keys every few minutes. */
export const DOCUMENTS_PER_SECOND = 20;

/**
 * Limits the documents that need no token, by address, in this process. Use one instance for all of them. Health checks
 * are not limited: a probe that gets 429 takes the process out of service.
 * @throws Refusal rate_limited
 */
export function documentLimit(): AppMiddleware {
  const detail = `An address may read at most ${DOCUMENTS_PER_SECOND} documents a second without a token.`;
  const limiter = new Limiter({ points: DOCUMENTS_PER_SECOND, duration: 1, detail });
  return async (ctx, next) => {
    await limiter.consume(hostNetwork(ctx.state.address));
    return next();
  };
}
