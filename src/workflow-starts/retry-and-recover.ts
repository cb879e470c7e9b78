import type { Client } from '@temporalio/client';
import { boundedAsking } from '../temporal/ask-temporal.js';
import type { DeliveryActions } from '../webhooks/delivery-actions.js';
import { recoverAction } from './recover.js';
import { retryAction } from './retry.js';

/**
 * The actions on deliveries that Temporal carries out: retry and recover.
 * @param temporal undefined while Temporal is away
 */
export function createDeliveryActions(
  temporal: () => Client | undefined,
  retryDelays: readonly number[],
  grace?: number,
): DeliveryActions {
  const ask = boundedAsking(temporal, grace);
  return { retry: retryAction(ask, retryDelays), recover: recoverAction(ask) };
}
