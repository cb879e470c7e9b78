import { SpanKind } from '@opentelemetry/api';
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { AttemptSlots } from '../src/express-lane/attempt-slots.js';
import { RetryPacer } from '../src/express-lane/retry-pacer.js';
import { LEASE } from '../src/lease.js';
import { currentTraceparent, inSpan } from '../src/telemetry/traces.js';
import {
  type AttemptRequest,
  type ClaimedAttempt,
  claimAttempt,
  type DeliveryState,
  type RecordedOutcome,
  readDeliveryState,
} from '../src/webhooks/claim.js';
import { cancelPending, cancelReasonOf } from '../src/webhooks/disable-endpoint.js';
import { type AttemptDependencies, makeAttempt } from '../src/webhooks/make-attempt.js';
import { isEarlierOwner } from '../src/webhooks/recover.js';
import type { InFlightLimit } from '../src/workflow-starts/in-flight-limit.js';
import type { DeliverActivities, DeliverOutcome, DeliverRequest } from '../workflows/deliver-event.activities.js';

export interface ActivityDependencies extends AttemptDependencies {
  /** The slots for attempts, shared with the express lane of the same process. */
  slots: Pick<AttemptSlots<unknown>, 'tryAcquire' | 'release'>;
  /** Shared with the workflow starter: an attempt that has arrived is in flight no more. */
  inFlight: Pick<InFlightLimit, 'arrived'>;
  /** Starts the workflow that the delivery's row names, where it does not run. */
  startOwner: (deliveryId: string) => Promise<void>;
}

const NO_PLACE_LONGEST = 60_000;
/** Of a thousand who wait for a dead receiver each asks again and again: so many a second do, a part of the fifty that the dev server carries. */
const NO_PLACE_PER_SECOND = 10;

/** The activities of the task queue `webhook-deliveries`, made of what they depend on. */
export function createActivities(dependencies: ActivityDependencies): DeliverActivities {
  const { database, slots } = dependencies;
  const pace = new RetryPacer(NO_PLACE_PER_SECOND);
  return {
    /**
     * Claims and makes one attempt. An attempt that is recorded already is not made again. What the receiver did is the
     * answer; a throw is a fault of ours, or that this must wait, and Temporal tries again.
     */
    async deliver(request) {
      const { clientId, webhookId } = request;
      const { attempt } = activityInfo();
      if (attempt === 1) dependencies.inFlight.arrived(clientId);
      if (!slots.tryAcquire(clientId, webhookId)) throw noSlot(attempt, pace.next(clientId, Date.now()));
      try {
        const claimed = await claimAttempt(database, request);
        if (!claimed) return await withoutClaim(dependencies, request);
        const { outcome, recorded } = await inSpan('RunActivity:deliver', spanOf(claimed), () =>
          makeAttempt(dependencies, { ...claimed, traceparent: currentTraceparent() }, request),
        );
        if (!recorded) return await withoutClaim(dependencies, request);
        return {
          status: recorded.status,
          reason: recorded.reason,
          attemptCount: request.number,
          lastOutcome: inAWord(outcome),
          wait: recorded.status === 'pending' ? request.nextDelay : null,
        };
      } finally {
        slots.release(clientId, webhookId);
      }
    },
  };
}

/** In the trace of the request that made the event, which its row keeps: a lost workflow, or Temporal's store, loses no trace. */
function spanOf({ traceparent }: ClaimedAttempt) {
  const { workflowExecution, attempt } = activityInfo();
  const attributes = {
    temporalWorkflowID: workflowExecution?.workflowId,
    temporalRunID: workflowExecution?.runId,
    'temporal.activity.attempt': attempt,
  };
  return { kind: SpanKind.INTERNAL, attributes, traceparent };
}

/** Why the attempt could not be claimed, as an outcome; throws where it can be later. */
async function withoutClaim(dependencies: ActivityDependencies, request: DeliverRequest): Promise<DeliverOutcome> {
  const { database, log } = dependencies;
  const state = await readDeliveryState(database, request);
  if (!state) {
    log.warn(
      namesOf(request),
      'the delivery is gone: Postgres was set back and lost its event, or retention removed it',
    );
    return ended('cancelled', 'removed', request, null);
  }
  if (state.recorded) {
    return {
      ...ended(state.status, state.reason, request, inAWord(state.recorded)),
      attemptCount: state.attemptCount,
      wait: state.status === 'pending' ? state.untilNext : null,
    };
  }
  if (state.owner !== request.owner) return takenOver(dependencies, request, state);
  if (state.status !== 'pending' && !request.single) return ended(state.status, state.reason, request, null);
  if (!state.endpointActive) return cancelled(database, request, state);
  const singleAtPending = request.single && state.status === 'pending';
  if (singleAtPending || state.attemptCount !== request.number - 1) {
    return setBack(dependencies, request, state, singleAtPending);
  }
  throw ApplicationFailure.create({
    type: 'AttemptUnderWay',
    category: 'BENIGN',
    message: 'another process makes this attempt',
    nextRetryDelay: Math.min(state.claimedFor, LEASE.seconds * 1_000) + 100,
  });
}

/**
 * Another workflow owns the delivery. One that owned it before does so again where Postgres was set back to before a
 * recovery: that workflow may have ended long ago, so it is started here where the delivery is pending.
 */
async function takenOver(
  { log, startOwner }: ActivityDependencies,
  request: DeliverRequest,
  { owner, status }: DeliveryState,
): Promise<DeliverOutcome> {
  if (isEarlierOwner(owner, request.owner)) {
    log.warn(
      { ...namesOf(request), status, owner },
      'the delivery was set back to before its recovery: Postgres was restored',
    );
    if (status === 'pending') await startOwner(request.deliveryId);
  }
  return ended('cancelled', `taken over by ${owner ?? "the event's own workflow"}`, request, null);
}

/**
 * The row stands elsewhere than its workflow: Postgres was set back (restored, or failed over without its last commits).
 * The row decides: the answer is where it stands, and the workflow goes on from there. Where a retry by hand finds the
 * delivery pending again, the workflow of its ladder has ended, and is started.
 */
async function setBack(
  { log, startOwner }: ActivityDependencies,
  request: DeliverRequest,
  { status, reason, attemptCount, latest, untilNext, claimedFor }: DeliveryState,
  singleAtPending: boolean,
): Promise<DeliverOutcome> {
  log.warn(
    { ...namesOf(request), status, attempt_count: attemptCount },
    'the delivery was set back: Postgres was restored',
  );
  if (singleAtPending) await startOwner(request.deliveryId);
  const wait = status === 'pending' && !request.single ? Math.max(untilNext ?? 0, claimedFor) : null;
  return { status, reason, attemptCount, lastOutcome: latest && inAWord(latest), wait };
}

/** What a log line says of the attempt that was asked for. */
function namesOf({ eventId, deliveryId, clientId, webhookId, number }: DeliverRequest) {
  const workflowId = activityInfo().workflowExecution?.workflowId;
  return {
    ...(eventId !== undefined && { event_id: eventId }),
    ...{ delivery_id: deliveryId, webhook_id: webhookId, client_id: clientId },
    ...{ attempt: number, workflow_id: workflowId },
  };
}

/** The endpoint was disabled or deleted, and this delivery slipped through beside it. */
async function cancelled(
  database: ActivityDependencies['database'],
  request: AttemptRequest & DeliverRequest,
  state: DeliveryState,
): Promise<DeliverOutcome> {
  if (state.status !== 'pending') return ended(state.status, state.reason, request, null);
  const reason = state.endpointDeleted ? 'endpoint_deleted' : cancelReasonOf(state.disabledReason);
  await cancelPending(database, request.webhookId, reason);
  return ended('cancelled', reason, request, null);
}

function ended(
  status: DeliverOutcome['status'],
  reason: string | null,
  request: DeliverRequest,
  lastOutcome: string | null,
): DeliverOutcome {
  return { status, reason, attemptCount: request.number - 1, lastOutcome, wait: null };
}

/** `204`, `503`, `timeout`: what the console shows of an attempt. */
function inAWord({ responseStatus, error }: RecordedOutcome): string {
  return responseStatus === null ? (error ?? 'unknown') : String(responseStatus);
}

/** It never waits in a slot: next try after 1 s, growing to 60 s, with jitter; in a crowd when its `turn` comes, ms. */
function noSlot(attempt: number, turn: number): ApplicationFailure {
  const delay = Math.min(NO_PLACE_LONGEST, 1_000 * 2 ** Math.min(attempt - 1, 6));
  return ApplicationFailure.create({
    type: 'NoPlace',
    category: 'BENIGN',
    message: 'as many attempts to this receiver, or of this client, are under way as may be',
    nextRetryDelay: Math.round(Math.max(turn, delay * (0.5 + Math.random() / 2))),
  });
}
