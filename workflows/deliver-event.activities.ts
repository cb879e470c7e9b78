import type { Trigger } from '../src/attempts.js';
import type { DeliveryProgress } from './deliver-event.input.js';

/**
 * One attempt that a workflow requests. It has only ids and numbers, so that the workflow's history holds no secret.
 */
export interface DeliverRequest {
  /** For the log; not in the histories of 0.1.0. */
  eventId?: string;
  deliveryId: string;
  clientId: string;
  webhookId: string;
  number: number;
  trigger: Trigger;
  owner: string | null;
  /** ms; null: the ladder ends here. */
  nextDelay: number | null;
  single: boolean;
}

/** The delivery's state after the attempt. `wait`: ms until the next attempt; null: none follows. */
export interface DeliverOutcome extends Pick<DeliveryProgress, 'status' | 'reason' | 'attemptCount' | 'lastOutcome'> {
  wait: number | null;
}

export interface DeliverActivities {
  deliver(request: DeliverRequest): Promise<DeliverOutcome>;
}
