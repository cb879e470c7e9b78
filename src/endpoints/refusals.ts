import type { Endpoint } from '../platform/database/generated/client.js';
import { describeLimit, type Limit } from '../platform/limits.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';

/** @throws Refusal endpoint_not_active */
export function refuseInactive({ enabled }: Pick<Endpoint, 'enabled'>): void {
  if (!enabled)
    throw new Refusal(
      'endpoint_not_active',
      'The webhook endpoint is disabled or deleted; enable it, or register it again.',
    );
}

/**
 * Until the last delivery of its backlog is cancelled, an endpoint stays disabled. Otherwise the rest would be sent, or
 * deliveries that come later would be cancelled.
 * @throws Refusal cancellation_in_progress
 */
export function refuseWhileCancelling({ cancellingAfter }: Pick<Endpoint, 'cancellingAfter'>): void {
  if (cancellingAfter === null) return;
  throw new Refusal(
    'cancellation_in_progress',
    'The pending deliveries of this endpoint are still being cancelled; try again in a few seconds.',
  );
}

/**
 * One recovery, or one check, runs for an endpoint at a time, and so many for a client. Call it in a transaction that
 * excludes the client's others.
 * @param running those of the client
 * @throws Refusal with the limit's code
 */
export function refuseAnother(
  what: 'recovery' | 'check',
  endpointId: string,
  running: readonly { endpointId: string }[],
  limit: Limit,
): void {
  const ofEndpoint = running.some((one) => one.endpointId === endpointId);
  if (!ofEndpoint && running.length < limit.amount) return;
  throw new Refusal(
    limit.code as RefusalCode,
    ofEndpoint
      ? `This endpoint has a running ${what}. Wait until it ends.`
      : `Limit: ${describeLimit(limit)}. Wait until one ends.`,
  );
}
