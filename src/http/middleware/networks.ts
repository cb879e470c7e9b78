import type { Config } from '../../config.js';
import { clientAddress, Networks } from '../../networks.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/**
 * Whom the request is judged as coming from, in `ctx.state.address` (contract, Networks). Who connects from outside of
 * ALLOWED_NETWORKS never gets here (`guardSocket`); who comes through a trusted proxy is judged here.
 * @throws Refusal network_not_allowed
 */
export function networks(config: Pick<Config, 'allowedNetworks' | 'trustedProxies'>): AppMiddleware {
  const allowed = new Networks(config.allowedNetworks);
  const trustedProxies = new Networks(config.trustedProxies);
  return (ctx, next) => {
    const { remoteAddress } = ctx.req.socket;
    ctx.state.address = clientAddress(remoteAddress, ctx.get('X-Forwarded-For'), trustedProxies);
    if (!allowed.allows(ctx.state.address)) {
      throw new Refusal('network_not_allowed', 'The request comes from outside of the allowed networks.');
    }
    return next();
  };
}
