import type { DeliveryStateValue } from './search-attributes.js';

export const TASK_QUEUE = 'webhook-deliveries';

/** A delivery as its row is. `lastOutcome` is the last attempt's outcome in short (`204`, `503`, `timeout`). */
export interface DeliveryProgress {
  deliveryId: string;
  webhookId: string;
  /** Host and port of the receiver, for the summaries; its URL never enters a history. */
  host: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  reason: string | null;
  attemptCount: number;
  lastOutcome: string | null;
  /** ISO 8601; null: none planned. */
  nextAttemptAt: string | null;
  /** ms from the time at which the row was read to the next attempt, on Postgres's clock; null: none planned. */
  wait: number | null;
}

export interface DeliverEventInput {
  eventId: string;
  clientId: string;
  /** `transfer.status_changed SENT` */
  title: string;
  deliveries: DeliveryProgress[];
}

/** The state of a whole event, derived from the states of its deliveries. */
export function stateOf(deliveries: readonly Pick<DeliveryProgress, 'status'>[]): DeliveryStateValue {
  if (deliveries.some(({ status }) => status === 'pending')) return 'retrying';
  if (deliveries.some(({ status }) => status === 'failed')) return 'exhausted';
  if (deliveries.some(({ status }) => status === 'succeeded') || deliveries.length === 0) return 'delivered';
  return 'cancelled';
}
