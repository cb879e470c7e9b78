import type { Limit } from '../platform/limits.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';

/**
 * Admits work at an endpoint: one at a time, and so many of its client at the same time.
 * @param running the endpoints of the client's running work, read in a transaction that excludes the client's others
 * @param noun such as `check`
 * @throws Refusal with the limit's code
 */
export function admitBeside(running: readonly string[], endpointId: string, limit: Limit, noun: string): void {
  const ofEndpoint = running.includes(endpointId);
  if (!ofEndpoint && running.length < limit.amount) return;
  throw new Refusal(
    limit.code as RefusalCode,
    ofEndpoint
      ? `A ${noun} of this endpoint is running; wait until it ends.`
      : `${limit.amount} ${limit.what} of this client are running; wait until one ends.`,
  );
}
