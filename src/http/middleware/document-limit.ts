import { Limiter } from '../../limiter.js';
import { hostNetwork } from '../../networks.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/** A client reads the documents when it starts and the signing keys every few minutes. */
export const DOCUMENTS_PER_SECOND = 20;
const TOO_MANY = `An address may read at most ${DOCUMENTS_PER_SECOND} documents a second without a token.`;

/**
 * Limits the documents that need no token, by address, in this process. Use one instance for all of them. Health checks
 * are not limited: a probe that gets 429 takes the process out of service.
 * @throws Refusal rate_limited
 */
export function documentLimit(): AppMiddleware {
  const limiter = new Limiter({ points: DOCUMENTS_PER_SECOND, duration: 1 });
  return async (ctx, next) => {
    await limiter.consume(
      hostNetwork(ctx.state.address),
      (retryAfter) => new Refusal('rate_limited', TOO_MANY, [], { retryAfter }),
    );
    return next();
  };
}
