import type { Config } from '../../config.js';
import { clientAddress, Networks } from '../../networks.js';
import { Refusal } from '../../refusal.js';
import type { AppMiddleware } from '../state.js';

/**
 * Sets `ctx.state.address` to the client's address (contract, Networks). `guardSocket` has already closed connections
 * from outside ALLOWED_NETWORKS; this middleware checks clients that connect through a trusted proxy.
 * @throws Refusal network_not_allowed
 */
export function networks(config: Pick<Config, 'allowedNetworks' | 'trustedProxies'>): AppMiddleware {
  const allowed = new Networks(config.allowedNetworks);
  const trustedProxies = new Networks(config.trustedProxies);
  return (ctx, next) => {
    const { remoteAddress } = ctx.req.socket;
    ctx.state.address = clientAddress(remoteAddress, ctx.get('X-Forwarded-For'), trustedProxies);
    if (!allowed.allows(ctx.state.address)) {
      throw new Refusal('network_not_allowed', 'The request comes from outside the allowed networks.');
    }
    return next();
  };
}
