import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { hostNetwork } from '../../networks.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/** A client reads the documents when it starts and the signing keys every few minutes. */
export const DOCUMENTS_PER_SECOND = 20;

/**
 * Limits the documents that need no token, by address, in this process. Use one instance for all of them. Health checks
 * are not limited: a probe that gets 429 takes the process out of service.
 * @throws Refusal rate_limited
 */
export function documentLimit(): AppMiddleware {
  const limiter = new RateLimiterMemory({ points: DOCUMENTS_PER_SECOND, duration: 1 });
  return async (ctx, next) => {
    try {
      await limiter.consume(hostNetwork(ctx.state.address));
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const retryAfter = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
      const detail = `An address may read at most ${DOCUMENTS_PER_SECOND} documents a second without a token.`;
      throw new Refusal('rate_limited', detail, [], { retryAfter });
    }
    return next();
  };
}
