import { SpanKind } from '@opentelemetry/api';
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { FairQueue } from '../src/outbox/fair-queue.js';
import { Pace } from '../src/outbox/pace.js';
import { currentTraceparent, inSpan } from '../src/telemetry/traces.js';
import {
  type AttemptRequest,
  type ClaimedAttempt,
  claimAttempt,
  readStanding,
  type Standing,
} from '../src/webhooks/claim.js';
import { cancelPending, cancelReasonOf } from '../src/webhooks/disable-endpoint.js';
import { type AttemptDependencies, makeAttempt } from '../src/webhooks/make-attempt.js';
import type { DeliverActivities, DeliverOutcome, DeliverRequest } from '../workflows/deliver-event.activities.js';

export interface ActivityDependencies extends AttemptDependencies {
  /** The places for attempts, shared with the express lane of the same process. */
  places: Pick<FairQueue<unknown>, 'tryPlace' | 'done'>;
  /** Called when an attempt gave its place back. */
  onPlaceFree: () => void;
  /** Called when an attempt of this client comes from Temporal for the first time. */
  onArrival: (clientId: string) => void;
}

const NO_PLACE_LONGEST = 60_000;
/** Of a thousand who wait for a dead receiver each asks again and again: so many a second do, a part of the fifty that the dev server carries. */
const NO_PLACE_PER_SECOND = 10;

/** The activities of the task queue `webhook-deliveries`, made of what they depend on. */
export function createActivities(dependencies: ActivityDependencies): DeliverActivities {
  const { database, places } = dependencies;
  const pace = new Pace(NO_PLACE_PER_SECOND);
  return {
    /**
     * Claims and makes one attempt. An attempt that is recorded already is not made again. What the receiver did is the
     * answer; a throw is a fault of ours, or that this must wait, and Temporal tries again.
     */
    async deliver(request) {
      const { clientId, webhookId } = request;
      const { attempt } = activityInfo();
      if (attempt === 1) dependencies.onArrival(clientId);
      if (!places.tryPlace(clientId, webhookId)) throw noPlace(attempt, pace.next(clientId, Date.now()));
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
        places.done(clientId, webhookId);
        dependencies.onPlaceFree();
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
async function withoutClaim({ database }: ActivityDependencies, request: DeliverRequest): Promise<DeliverOutcome> {
  const standing = await readStanding(database, request);
  if (!standing) return ended('cancelled', 'removed', request, null);
  if (standing.recorded) {
    return {
      ...ended(standing.status, standing.reason, request, inAWord(standing.recorded)),
      attemptCount: standing.attemptCount,
      wait: standing.status === 'pending' ? standing.untilNext : null,
    };
  }
  if (standing.owner !== request.owner) return ended('cancelled', `taken over by ${standing.owner}`, request, null);
  if (standing.status !== 'pending' && !request.single) return ended(standing.status, standing.reason, request, null);
  if (!standing.endpointActive) return cancelled(database, request, standing);
  throw ApplicationFailure.create({
    type: 'AttemptUnderWay',
    category: 'BENIGN',
    message: 'another process makes this attempt',
    nextRetryDelay: standing.claimedFor + 100,
  });
}

/** The endpoint was disabled or deleted, and this delivery slipped through beside it. */
async function cancelled(
  database: ActivityDependencies['database'],
  request: AttemptRequest & DeliverRequest,
  standing: Standing,
): Promise<DeliverOutcome> {
  if (standing.status !== 'pending') return ended(standing.status, standing.reason, request, null);
  const reason = standing.endpointDeleted ? 'endpoint_deleted' : cancelReasonOf(standing.disabledReason);
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
function inAWord({ responseStatus, error }: { responseStatus: number | null; error: string | null }): string {
  return responseStatus === null ? (error ?? 'unknown') : String(responseStatus);
}

/** It never waits in a slot: next try after 1 s, growing to 60 s, with jitter; in a crowd when its `turn` comes, ms. */
function noPlace(attempt: number, turn: number): ApplicationFailure {
  const delay = Math.min(NO_PLACE_LONGEST, 1_000 * 2 ** Math.min(attempt - 1, 6));
  return ApplicationFailure.create({
    type: 'NoPlace',
    category: 'BENIGN',
    message: 'as many attempts to this receiver, or of this client, are under way as may be',
    nextRetryDelay: Math.round(Math.max(turn, delay * (0.5 + Math.random() / 2))),
  });
}
