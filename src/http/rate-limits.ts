import { hasOperatorScope } from '../auth/caller.js';
import { LIMITS } from '../platform/limits.js';
import { hostNetwork } from '../platform/networks.js';
import { MemoryLimit, SavingLimit } from '../platform/rate-limit.js';
import { Refusal } from '../platform/refusal.js';
import type { AppContext, AppMiddleware } from './context.js';

/**
 * The weight of a request that is refused for its size: receiving it costs that much, and a correct client rarely sends
 * one.
 */
const OVERSIZED_POINTS = 5;

/**
 * Counts a request, and then runs it. `key` is the client or the address that it counts for, `perSecond` the limit of
 * the client's own, if it has one. A `points` above the whole limit is lowered to it.
 * @throws Refusal rate_limited
 */
export type RateLimit = (
  ctx: AppContext,
  counted: { key: string; points: number; perSecond?: number | null | undefined },
  next: () => Promise<void>,
) => Promise<void>;

/**
 * Gives each key `perSecond` points over all API processes: each process has an equal share. What a second leaves
 * unused serves the next two. A request of the API is one point. The headers follow
 * draft-ietf-httpapi-ratelimit-headers-11 and include the weight of a refused request.
 * @param processes the live API processes, with this one
 */
export function rateLimit(usual: number, processes: () => number): RateLimit {
  const limit = new SavingLimit({
    what: 'requests',
    of: 'a client',
    note: 'a console page counts as several',
    seconds: 1,
    code: 'rate_limited',
    in: 'process',
  });
  return async (ctx, { key, points, perSecond: own }, next) => {
    const perSecond = own ?? usual;
    const share = perSecond / processes();
    const setLeft = (left: number, seconds = 1) => ctx.set('RateLimit', `"default";r=${left};t=${seconds}`);
    ctx.set('RateLimit-Policy', `"default";q=${perSecond};w=1`);
    try {
      setLeft(limit.take(key, share, points));
    } catch (error) {
      setLeft(0, error instanceof Refusal ? error.retryAfter : undefined);
      throw error;
    }
    try {
      await next();
    } catch (error) {
      if (isOversized(error)) setLeft(limit.charge(key, share, OVERSIZED_POINTS - 1));
      throw error;
    }
  };
}

/** Limits each client's requests to the API. The operator has no limit. */
export function limitClients(limit: RateLimit): AppMiddleware {
  return (ctx, next) => {
    const { clientId, scopes, rateLimit: perSecond } = ctx.state.caller;
    return hasOperatorScope(scopes) ? next() : limit(ctx, { key: clientId, points: 1, perSecond }, next);
  };
}

function isOversized(error: unknown): boolean {
  return (
    error instanceof Refusal &&
    (error.oversized || error.code === 'payload_too_large' || error.code === 'too_many_parameters')
  );
}

/**
 * Limits the documents that need no token, by address, in this process. Use one instance for all of them. Health checks
 * are not limited: a probe that gets 429 takes the process out of service.
 * @throws Refusal rate_limited
 */
export function documentLimit(): AppMiddleware {
  const limit = new MemoryLimit(LIMITS.documents);
  return (ctx, next) => {
    limit.refuseExceeded(limit.use(hostNetwork(ctx.state.address)));
    return next();
  };
}
