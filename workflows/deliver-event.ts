import {
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { formatDuration } from '../src/duration.js';
import { delayAfter } from '../src/ladder.js';
import type { DeliverActivities } from './deliver-event.activities.js';
import { type DeliverEventInput, type DeliveryProgress, stateOf } from './deliver-event.input.js';
import { detailsOf, failureOf } from './details.js';
import { DeliveryState } from './search-attributes.js';

const { deliver } = proxyActivities<DeliverActivities>({
  // An attempt takes up to 16 s; what the activity throws is our own fault, or that it must wait, and is tried again without end.
  startToCloseTimeout: '45s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Wakes a delivery that sleeps before attempt `number`; for any other number it does nothing. */
export const retryNow = defineSignal<[{ deliveryId: string; number: number }]>('retryNow');
export const progress = defineQuery<DeliveryProgress[]>('progress');

/**
 * Delivers one event: the ladder of each delivery that is not done, side by side. Ends `Completed` when all delivered or
 * were cancelled, `Failed` when a ladder is exhausted.
 */
export async function deliverEvent(input: DeliverEventInput): Promise<DeliveryProgress[]> {
  const deliveries = input.deliveries.map(({ ladderStart, owner, ...delivery }) => delivery);
  const asked = new Map<string, number>();
  setHandler(retryNow, ({ deliveryId, number }) => void asked.set(deliveryId, number));
  setHandler(progress, () => deliveries);
  const stateAtStart = stateOf(deliveries);
  const show = () => setCurrentDetails(detailsOf(deliveries));
  show();

  const climb = async (delivery: DeliveryProgress, ladderStart: number, owner: string | null): Promise<void> => {
    let wait = waitAtStart(delivery, delayAfter(input.ladder, delivery.attemptCount - ladderStart));
    while (delivery.status === 'pending') {
      const number = delivery.attemptCount + 1;
      const isAsked = () => asked.get(delivery.deliveryId) === number;
      if (wait > 0) {
        const summary = `attempt ${number} to ${delivery.host} waits ${formatDuration(Math.ceil(wait / 1_000) * 1_000)}`;
        await condition(isAsked, wait, { summary });
      }
      const outcome = await deliver.executeWithOptions({ summary: `attempt ${number} to ${delivery.host}` }, [
        {
          eventId: input.eventId,
          deliveryId: delivery.deliveryId,
          clientId: input.clientId,
          webhookId: delivery.webhookId,
          number,
          trigger: isAsked() ? 'manual' : owner === null ? 'schedule' : 'recover',
          owner,
          nextDelay: delayAfter(input.ladder, number - ladderStart),
          single: false,
        },
      ]);
      wait = outcome.wait ?? 0;
      delivery.status = outcome.status;
      delivery.reason = outcome.reason;
      delivery.attemptCount = outcome.attemptCount;
      delivery.lastOutcome = outcome.lastOutcome;
      delivery.nextAttemptAt = outcome.wait === null ? null : new Date(Date.now() + outcome.wait).toISOString();
      show();
    }
  };
  await Promise.all(
    input.deliveries.map(({ ladderStart, owner }, i) => {
      const delivery = deliveries[i];
      return delivery && climb(delivery, ladderStart, owner);
    }),
  );

  const state = stateOf(deliveries);
  if (state !== stateAtStart) upsertSearchAttributes([{ key: DeliveryState, value: state }]);
  if (state === 'exhausted') throw ApplicationFailure.nonRetryable(failureOf(deliveries), 'LadderExhausted');
  return deliveries;
}

/** The planned time is on Postgres's clock, this is Temporal's: a wait is never longer than the rung itself. */
function waitAtStart(delivery: DeliveryProgress, rung: number | null): number {
  if (delivery.nextAttemptAt === null) return 0;
  const planned = Date.parse(delivery.nextAttemptAt) - Date.now();
  return Math.max(0, Math.min(planned, rung ?? 0));
}
