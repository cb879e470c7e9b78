import { proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { DeliverActivities, DeliverOutcome } from './deliver-event.activities.js';
import { stateOf } from './deliver-event.input.js';
import { DeliveryState } from './search-attributes.js';

const { deliver } = proxyActivities<DeliverActivities>({
  startToCloseTimeout: '45s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

export interface RetryDeliveryInput {
  deliveryId: string;
  clientId: string;
  webhookId: string;
  host: string;
  number: number;
  /** As the delivery's row names it. */
  owner: string | null;
}

/** One more attempt, by hand, at a delivery that has ended. */
export async function retryDelivery(input: RetryDeliveryInput): Promise<DeliverOutcome> {
  const { host, ...request } = input;
  const outcome = await deliver.executeWithOptions({ summary: `attempt ${input.number} to ${host}, by hand` }, [
    { ...request, trigger: 'manual', nextDelay: null, single: true },
  ]);
  setCurrentDetails(
    `Attempt ${input.number} to ${host}: ${outcome.lastOutcome ?? outcome.reason ?? 'not made'}. The delivery is ${outcome.status}.`,
  );
  upsertSearchAttributes([{ key: DeliveryState, value: stateOf([outcome]) }]);
  return outcome;
}
