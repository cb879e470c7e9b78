import { SpanKind } from '@opentelemetry/api';
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { RetryPacer } from '../src/express-lane/retry-pacer.js';
import { currentTraceparent, inSpan } from '../src/telemetry/traces.js';
import { type ClaimedAttempt, claimAttempt } from '../src/webhooks/claim.js';
import { type AttemptDependencies, makeAttempt } from '../src/webhooks/make-attempt.js';
import type { InFlightLimit } from '../src/workflow-starts/in-flight-limit.js';
import type { DeliverActivities } from '../workflows/deliver-event.activities.js';
import { outcomeInLane, outcomeWithoutClaim, shortOutcome, type UnclaimedDependencies } from './unclaimed.js';

export interface ActivityDependencies extends AttemptDependencies, Omit<UnclaimedDependencies, 'nextTurn'> {
  /**
   * Takes a slot for an attempt, from the slots that the activities share with the express lane of the same process. The
   * answer is false when none was free within a second.
   */
  acquireSlot: (clientId: string, endpointId: string) => Promise<boolean>;
  releaseSlot: (clientId: string, endpointId: string) => void;
  /** The workflow starter's in-flight limit: an attempt that has arrived no longer counts towards it. */
  inFlight: Pick<InFlightLimit, 'arrived'>;
}

/** Longest delay before an activity without a slot asks again, ms. */
const LONGEST_SLOT_RETRY = 60_000;
/**
 * Retries a second, over all clients, of activities that wait for a slot, and of activities whose attempt the lane makes.
 * A thousand of them may wait for a dead receiver; the limit keeps their retries to a part of the fifty a second that
 * the dev server carries.
 */
const RETRIES_PER_SECOND = 10;

/** Creates the activities of the task queue `webhook-deliveries`. */
export function createActivities(dependencies: ActivityDependencies): DeliverActivities {
  const { database, acquireSlot, releaseSlot } = dependencies;
  const withoutSlot = new RetryPacer(RETRIES_PER_SECOND);
  const underWay = new RetryPacer(RETRIES_PER_SECOND);
  const unclaimed = { ...dependencies, nextTurn: (clientId: string) => underWay.next(clientId, Date.now()) };
  return {
    /**
     * Claims and makes one attempt. An attempt that is already recorded is not made again. The receiver's response is
     * the result. A throw is a fault of this service, or means that the attempt must wait; Temporal then tries again.
     */
    async deliver(request) {
      const { clientId, webhookId } = request;
      const { attempt } = activityInfo();
      if (attempt === 1) dependencies.inFlight.arrived(clientId);
      const inLane = request.number === 1 ? await outcomeInLane(unclaimed, request) : undefined;
      if (inLane) return inLane;
      if (!(await acquireSlot(clientId, webhookId))) throw noSlot(attempt, withoutSlot.next(clientId, Date.now()));
      try {
        const claimed = await claimAttempt(database, request);
        if (!claimed) return await outcomeWithoutClaim(unclaimed, request);
        const { outcome, recorded } = await inSpan('RunActivity:deliver', spanOf(claimed), () =>
          makeAttempt(dependencies, { ...claimed, traceparent: currentTraceparent() }, request),
        );
        if (!recorded) return await outcomeWithoutClaim(unclaimed, request);
        return {
          status: recorded.status,
          reason: recorded.reason,
          attemptCount: request.number,
          lastOutcome: shortOutcome(outcome),
          wait: recorded.status === 'pending' ? request.nextDelay : null,
        };
      } finally {
        releaseSlot(clientId, webhookId);
      }
    },
  };
}

/**
 * The span continues the trace of the request that made the event. The event's row keeps that trace, so that it
 * survives the loss of a workflow or of Temporal's store.
 */
function spanOf({ traceparent }: ClaimedAttempt) {
  const { workflowExecution, attempt } = activityInfo();
  const attributes = {
    temporalWorkflowID: workflowExecution?.workflowId,
    temporalRunID: workflowExecution?.runId,
    'temporal.activity.attempt': attempt,
  };
  return { kind: SpanKind.INTERNAL, attributes, traceparent };
}

/**
 * An activity waits for a slot for a second at most: it fails then, and Temporal tries again after 1 s, growing to 60 s,
 * with jitter. While many activities of the client wait, the delay is at least `turn`, the pacer's next turn in ms.
 */
function noSlot(attempt: number, turn: number): ApplicationFailure {
  const delay = Math.min(LONGEST_SLOT_RETRY, 1_000 * 2 ** Math.min(attempt - 1, 6));
  return ApplicationFailure.create({
    type: 'NoPlace',
    category: 'BENIGN',
    message: 'as many attempts to this receiver, or of this client, are under way as may be',
    nextRetryDelay: Math.round(Math.max(turn, delay * (0.5 + Math.random() / 2))),
  });
}
