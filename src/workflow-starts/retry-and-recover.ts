import type { Client } from '@temporalio/client';
import { boundedAsking } from '../temporal/ask-temporal.js';
import type { DeliveryActions } from '../webhooks/delivery-actions.js';
import { recoverAction } from './recover.js';
import { retryAction } from './retry.js';

/** What clients may ask of their deliveries, carried out by Temporal. `temporal` gives undefined while it is away. */
export function createDeliveryActions(
  temporal: () => Client | undefined,
  retryDelays: readonly number[],
  grace?: number,
): DeliveryActions {
  const ask = boundedAsking(temporal, grace);
  return { retry: retryAction(ask, retryDelays), recover: recoverAction(ask) };
}
