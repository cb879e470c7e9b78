import type { Receiver } from './receiver.js';
import type { DeliveryStateValue } from './search-attributes.js';

export const TASK_QUEUE = 'webhook-deliveries';

/** A delivery as its row is. `lastOutcome` is the last attempt's outcome in short (`204`, `503`, `timeout`). */
export interface DeliveryProgress extends Receiver {
  deliveryId: string;
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

/** The delivery whose attempt is due. It has only ids and names, so that the workflow's history holds no secret. */
export interface DeliverRequest extends Receiver {
  eventId: string;
  deliveryId: string;
  clientId: string;
  /** Attempts that the workflow knows of. */
  attemptCount: number;
}

/** The type of the failure of a failed attempt. Its detail is the delivery's `DeliveryProgress`. */
export const ATTEMPT_FAILED = 'AttemptFailed';

export interface DeliverActivities {
  /**
   * Has the attempt made that is due. Ends with the delivery as it is afterwards, or with a failure `ATTEMPT_FAILED` if
   * the last of the attempts that the workflow does not know of has failed. `isQueued`: the attempt waits for a slot,
   * or another process makes it; its record wakes the workflow.
   */
  deliver(request: DeliverRequest): Promise<DeliveryProgress & { isQueued?: boolean }>;
}

export interface ReadDeliveriesActivities {
  readDeliveries(eventId: string): Promise<DeliveryProgress[]>;
}
