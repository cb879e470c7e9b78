import { patched, proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { DeliverActivities, DeliverOutcome } from './deliver-event.activities.js';
import { stateOf } from './deliver-event.input.js';
import { DeliveryState } from './search-attributes.js';

const { deliver } = proxyActivities<DeliverActivities>({
  startToCloseTimeout: '45s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

export interface RetryDeliveryInput {
  /** For the log; not in the histories of 0.1.0. */
  eventId?: string;
  deliveryId: string;
  clientId: string;
  webhookId: string;
  host: string;
  number: number;
  /** The owner in the delivery's row. */
  owner: string | null;
}

/**
 * Makes one more attempt, by hand, at a delivery that has ended. If Postgres was restored, and the row has fewer
 * attempts than expected, the attempt has the number that follows the row's.
 */
export async function retryDelivery(input: RetryDeliveryInput): Promise<DeliverOutcome> {
  let outcome = await attempt(input);
  let { number } = input;
  while (outcome.status !== 'pending' && outcome.attemptCount < number - 1 && patched('retry-a-row-set-back')) {
    number = outcome.attemptCount + 1;
    outcome = await attempt({ ...input, number });
  }
  setCurrentDetails(
    `Attempt ${number} to ${input.host}: ${outcome.lastOutcome ?? outcome.reason ?? 'not made'}. The delivery is ${outcome.status}.`,
  );
  upsertSearchAttributes([{ key: DeliveryState, value: stateOf([outcome]) }]);
  return outcome;
}

function attempt({ host, ...request }: RetryDeliveryInput): Promise<DeliverOutcome> {
  return deliver.executeWithOptions({ summary: `attempt ${request.number} to ${host}, by hand` }, [
    { ...request, trigger: 'manual', nextDelay: null, single: true },
  ]);
}
