import type { DeliveryProgress } from './deliver-event.input.js';

/** The delivery whose attempt is due. It has only ids and names, so that the workflow's history holds no secret. */
export interface DeliverRequest {
  eventId: string;
  deliveryId: string;
  clientId: string;
  webhookId: string;
  host: string;
  /** Attempts that the workflow knows of. */
  attemptCount: number;
}

/** The type of the failure of a failed attempt. Its detail is the delivery's `DeliveryProgress`. */
export const ATTEMPT_FAILED = 'AttemptFailed';

export interface DeliverActivities {
  /**
   * Has the attempt made that is due. Ends with the delivery as it is afterwards, or with a failure `ATTEMPT_FAILED` if the
   * last of the attempts that the workflow does not know of has failed.
   */
  deliver(request: DeliverRequest): Promise<DeliveryProgress>;
}

export interface ReadDeliveriesActivities {
  readDeliveries(eventId: string): Promise<DeliveryProgress[]>;
}
