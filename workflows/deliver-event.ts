import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  makeContinueAsNewFunc,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { formatDuration } from '../src/platform/duration.js';
import {
  ATTEMPT_FAILED,
  type DeliverActivities,
  type DeliverEventInput,
  type DeliveryProgress,
  type ReadDeliveriesActivities,
  stateOf,
} from './deliver-event.input.js';
import { detailsOf, failureOf } from './details.js';
import { receiverName } from './receiver.js';
import { DeliveryState } from './search-attributes.js';

const { deliver } = proxyActivities<DeliverActivities>({
  // An attempt takes up to 16 s. A failed attempt is not retried here; what else the activity throws is.
  startToCloseTimeout: '45s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

const { readDeliveries } = proxyLocalActivities<ReadDeliveriesActivities>({
  startToCloseTimeout: '10s',
  localRetryThreshold: '1s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/**
 * How long the workflow waits for the record of a queued attempt before it asks again, ms; then twice as long. The
 * record wakes it; this is for a signal that Temporal has lost.
 */
const PATIENCE = 600_000;

/** A delivery's row has changed without this workflow, such as by a manual retry or a recovery. */
export const wake = defineSignal('wake');
export const progress = defineQuery<DeliveryProgress[]>('progress');

/**
 * Shows the deliveries of one event, and wakes each at its time. It decides nothing: it sleeps until the planned
 * attempt, calls `deliver`, and shows the row as it is then. Ends `Completed` when all deliveries succeeded or were
 * cancelled, `Failed` when a delivery has failed. It continues as a new run when its history is long, such as after
 * hundreds of manual retries: Temporal ends a workflow at 51,200 events or 50 MB.
 */
export async function deliverEvent(input: DeliverEventInput): Promise<DeliveryProgress[]> {
  const deliveries = input.deliveries.map((delivery) => ({ ...delivery }));
  const stateAtStart = stateOf(deliveries);
  let asked = 0;
  let seen = 0;
  setHandler(wake, () => void asked++);
  setHandler(progress, () => deliveries);
  const show = () => setCurrentDetails(detailsOf(deliveries));
  show();

  const climbing = new Set<DeliveryProgress>();
  let failure: unknown;
  const climb = async (delivery: DeliveryProgress): Promise<void> => {
    let patience = PATIENCE;
    // The workflow may have started late: the first wait counts from the planned time too.
    let wait = Math.min(delivery.wait ?? 0, untilPlanned(delivery));
    while (delivery.status === 'pending') {
      const { attemptCount, nextAttemptAt } = delivery;
      if (wait > 0) {
        const hasChanged = () => delivery.status !== 'pending' || delivery.nextAttemptAt !== nextAttemptAt;
        const summary = `attempt ${attemptCount + 1} to ${receiverName(delivery)} waits ${formatDuration(Math.ceil(wait / 1_000) * 1_000)}`;
        if (await condition(hasChanged, wait, { summary })) {
          wait = delivery.wait ?? 0;
          continue;
        }
      }
      const { eventId, clientId } = input;
      const { deliveryId, webhookId, host, description } = delivery;
      const known = { attemptCount: delivery.attemptCount };
      const request = { eventId, deliveryId, clientId, webhookId, host, description, ...known };
      const summary = `attempt ${delivery.attemptCount + 1} to ${receiverName(delivery)}`;
      const { isQueued, ...row } = await deliver.executeWithOptions({ summary }, [request]).catch(progressOfFailed);
      Object.assign(delivery, row);
      if (isQueued) {
        show();
        const isMade = () => delivery.status !== 'pending' || delivery.attemptCount > request.attemptCount;
        await condition(isMade, patience, { summary: `${summary} waits for a slot` });
        patience *= 2;
      }
      wait = delivery.wait ?? 0;
      show();
    }
  };
  const climbAll = () => {
    for (const delivery of deliveries.filter(({ status }) => status === 'pending')) {
      if (climbing.has(delivery)) continue;
      climbing.add(delivery);
      void climb(delivery)
        .catch((error) => {
          failure ??= error;
        })
        .finally(() => climbing.delete(delivery));
    }
  };

  climbAll();
  for (;;) {
    await condition(() => asked > seen || climbing.size === 0 || workflowInfo().continueAsNewSuggested);
    // An operator has cancelled the workflow, or an activity failed for good.
    if (failure !== undefined) throw failure;
    if (asked === seen && climbing.size === 0) break;
    seen = asked;
    for (const row of await readDeliveries(input.eventId)) {
      const known = deliveries.find(({ deliveryId }) => deliveryId === row.deliveryId);
      if (!known) deliveries.push(row);
      // What `deliver` has returned meanwhile is newer.
      else if (row.attemptCount >= known.attemptCount) Object.assign(known, row);
    }
    show();
    if (workflowInfo().continueAsNewSuggested && asked === seen) await continueWith({ ...input, deliveries });
    climbAll();
  }

  const state = stateOf(deliveries);
  if (state !== stateAtStart) upsertSearchAttributes([{ key: DeliveryState, value: state }]);
  if (state === 'exhausted') throw ApplicationFailure.nonRetryable(failureOf(deliveries), 'LadderExhausted');
  return deliveries;
}

/** The activities in flight end without this workflow. `deliver` tells the new run what became of their attempts. */
async function continueWith(input: DeliverEventInput): Promise<never> {
  // The new run keeps what operators filter by.
  const typedSearchAttributes = workflowInfo().typedSearchAttributes.updateCopy([
    { key: DeliveryState, value: stateOf(input.deliveries) },
  ]);
  return makeContinueAsNewFunc<typeof deliverEvent>({ typedSearchAttributes })(input);
}

function untilPlanned({ nextAttemptAt }: DeliveryProgress): number {
  return nextAttemptAt === null ? 0 : Math.max(0, Date.parse(nextAttemptAt) - Date.now());
}

/** @throws any failure that is not a failed attempt's */
function progressOfFailed(failure: unknown): DeliveryProgress & { isQueued?: boolean } {
  const cause = failure instanceof ActivityFailure ? failure.cause : undefined;
  if (cause instanceof ApplicationFailure && cause.type === ATTEMPT_FAILED)
    return cause.details?.[0] as DeliveryProgress;
  throw failure;
}
