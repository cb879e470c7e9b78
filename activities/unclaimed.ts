import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Database } from '../src/database/database.js';
import { LEASE } from '../src/lease.js';
import type { Log } from '../src/telemetry/log.js';
import { cancelDelivery } from '../src/webhooks/cancel-pending.js';
import { type DeliveryState, type RecordedOutcome, readDeliveryState } from '../src/webhooks/claim.js';
import { isEarlierOwner } from '../src/webhooks/recover.js';
import type { DeliverOutcome, DeliverRequest } from '../workflows/deliver-event.activities.js';

/**
 * An activity asks again after this time for an attempt that another process makes, ms; later while many of the client
 * ask. The retry after that attempt is late by as much.
 */
const ASK_AGAIN_AFTER = 2_000;

export interface UnclaimedDependencies {
  database: Database;
  log: Log;
  /** Starts the workflow that the delivery's row names, unless it runs already. */
  startOwner: (deliveryId: string) => Promise<void>;
  /** The time until the client's next turn to ask for an attempt that another process makes, ms. */
  nextTurn: (clientId: string) => number;
}

/**
 * Looks for a first attempt that the lane makes while the workflow runs. It takes no slot: the attempt has one.
 * @returns the attempt's outcome; undefined if no other process makes or has made it
 * @throws ApplicationFailure `AttemptUnderWay` while another process makes the attempt, so that Temporal tries again
 */
export async function outcomeInLane(
  dependencies: Pick<UnclaimedDependencies, 'database' | 'nextTurn'>,
  request: DeliverRequest,
): Promise<DeliverOutcome | undefined> {
  const state = await readDeliveryState(dependencies.database, request);
  if (!state) return undefined;
  if (state.recorded) return recordedOutcome(state, state.recorded);
  if (state.claimedFor > 0) throw attemptUnderWay(dependencies, request, state);
  return undefined;
}

/**
 * Reads why an attempt could not be claimed, and returns it as the attempt's outcome.
 * @throws ApplicationFailure `AttemptUnderWay` while another process makes the attempt, so that Temporal tries again
 */
export async function outcomeWithoutClaim(
  dependencies: UnclaimedDependencies,
  request: DeliverRequest,
): Promise<DeliverOutcome> {
  const { database, log } = dependencies;
  const state = await readDeliveryState(database, request);
  if (!state) {
    log.warn(
      logFieldsOf(request),
      'the delivery is gone: Postgres was restored to a point before its event, or retention removed it',
    );
    return notMade('cancelled', 'removed', request);
  }
  if (state.recorded) return recordedOutcome(state, state.recorded);
  if (state.owner !== request.owner) return takenOver(dependencies, request, state);
  if (state.status !== 'pending' && !request.single) return notMade(state.status, state.reason, request);
  if (!state.endpointActive) return cancelled(dependencies, request, state);
  const singleAtPending = request.single && state.status === 'pending';
  if (singleAtPending || state.attemptCount !== request.number - 1) {
    return setBack(dependencies, request, state, singleAtPending);
  }
  throw attemptUnderWay(dependencies, request, state);
}

function recordedOutcome(
  { status, reason, attemptCount, untilNext }: DeliveryState,
  recorded: RecordedOutcome,
): DeliverOutcome {
  const wait = status === 'pending' ? untilNext : null;
  return { status, reason, attemptCount, lastOutcome: shortOutcome(recorded), wait };
}

function attemptUnderWay(
  { nextTurn }: Pick<UnclaimedDependencies, 'nextTurn'>,
  { clientId }: DeliverRequest,
  { claimedFor }: DeliveryState,
): ApplicationFailure {
  const claimEnds = Math.min(claimedFor, LEASE.seconds * 1_000) + 100;
  return ApplicationFailure.create({
    type: 'AttemptUnderWay',
    category: 'BENIGN',
    message: 'another process makes this attempt',
    nextRetryDelay: Math.min(claimEnds, Math.max(ASK_AGAIN_AFTER, nextTurn(clientId))),
  });
}

/**
 * Another workflow owns the delivery, so this workflow makes no attempt. If the row names an owner from before this
 * workflow, Postgres was restored to a point before a recovery. That earlier owner may have ended long ago, so it is
 * started here if the delivery is pending.
 */
async function takenOver(
  { log, startOwner }: UnclaimedDependencies,
  request: DeliverRequest,
  { owner, status }: DeliveryState,
): Promise<DeliverOutcome> {
  if (isEarlierOwner(owner, request.owner)) {
    log.warn(
      { ...logFieldsOf(request), status, owner },
      'the delivery was set back to before its recovery: Postgres was restored',
    );
    if (status === 'pending') await startOwner(request.deliveryId);
  }
  return notMade('cancelled', `taken over by ${owner ?? "the event's own workflow"}`, request);
}

/**
 * The row and the workflow disagree about the number of attempts: Postgres was set back (restored, or failed over
 * without its last commits). The row decides: the outcome is the row's state, and the workflow continues from it. If a
 * retry by hand finds the delivery pending again, the workflow of its ladder has ended, so it is started here.
 */
async function setBack(
  { log, startOwner }: UnclaimedDependencies,
  request: DeliverRequest,
  { status, reason, attemptCount, latest, untilNext, claimedFor }: DeliveryState,
  singleAtPending: boolean,
): Promise<DeliverOutcome> {
  log.warn(
    { ...logFieldsOf(request), status, attempt_count: attemptCount },
    'the delivery was set back: Postgres was restored',
  );
  if (singleAtPending) await startOwner(request.deliveryId);
  const wait = status === 'pending' && !request.single ? Math.max(untilNext ?? 0, claimedFor) : null;
  return { status, reason, attemptCount, lastOutcome: latest && shortOutcome(latest), wait };
}

/** The cancellation of the inactive endpoint's deliveries has not reached this delivery yet, or missed it. */
async function cancelled(
  dependencies: UnclaimedDependencies,
  request: DeliverRequest,
  state: DeliveryState,
): Promise<DeliverOutcome> {
  if (state.status !== 'pending') return notMade(state.status, state.reason, request);
  const reason = await cancelDelivery(dependencies.database, request.deliveryId);
  // The row has changed since it was read: Temporal asks again.
  if (reason === undefined) throw attemptUnderWay(dependencies, request, state);
  return notMade('cancelled', reason, request);
}

function notMade(status: DeliverOutcome['status'], reason: string | null, { number }: DeliverRequest): DeliverOutcome {
  return { status, reason, attemptCount: number - 1, lastOutcome: null, wait: null };
}

/** The log fields that identify the requested attempt. */
function logFieldsOf({ eventId, deliveryId, clientId, webhookId, number }: DeliverRequest) {
  const workflowId = activityInfo().workflowExecution?.workflowId;
  return {
    ...(eventId !== undefined && { event_id: eventId }),
    ...{ delivery_id: deliveryId, webhook_id: webhookId, client_id: clientId },
    ...{ attempt: number, workflow_id: workflowId },
  };
}

/** An attempt's outcome as the console shows it: `204`, `503`, `timeout`. */
export function shortOutcome({ responseStatus, error }: RecordedOutcome): string {
  return responseStatus === null ? (error ?? 'unknown') : String(responseStatus);
}
