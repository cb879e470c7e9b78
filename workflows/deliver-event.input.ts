import type { DeliveryStateValue } from './search-attributes.js';

export const TASK_QUEUE = 'webhook-deliveries';

/** A delivery's state from its row. `lastOutcome` is the last attempt's outcome in short (`204`, `503`, `timeout`). */
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
}

export interface DeliverEventInput {
  eventId: string;
  clientId: string;
  /** `transfer.status_changed SENT` */
  title: string;
  deliveries: (DeliveryProgress & {
    /** `attemptCount` when its ladder was started. */
    ladderStart: number;
    /** The owner in the delivery's row; null: the event's own workflow. */
    owner: string | null;
  })[];
  /** Delays of the retries, ms: kept for as long as this workflow runs. */
  ladder: readonly number[];
}

/** The state of a whole event, derived from the states of its deliveries. */
export function stateOf(deliveries: readonly Pick<DeliveryProgress, 'status'>[]): DeliveryStateValue {
  if (deliveries.some(({ status }) => status === 'pending')) return 'retrying';
  if (deliveries.some(({ status }) => status === 'failed')) return 'exhausted';
  if (deliveries.some(({ status }) => status === 'succeeded') || deliveries.length === 0) return 'delivered';
  return 'cancelled';
}
