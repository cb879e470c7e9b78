import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import type { Dispatcher } from '../src/delivery/dispatcher.js';
import type { AttemptKeys } from '../src/delivery/handover.js';
import { queueDue, readLease } from '../src/delivery/queue.js';
import { readDelivery, readProgress } from '../src/delivery/workflow-starter.js';
import type { Handle } from '../src/platform/database/database.js';
import { withinShare } from '../src/platform/database/transaction-turns.js';
import type { Log } from '../src/platform/telemetry/log.js';
import {
  ATTEMPT_FAILED,
  type DeliverActivities,
  type DeliverRequest,
  type DeliveryProgress,
  type ReadDeliveriesActivities,
} from '../workflows/deliver-event.input.js';
import { receiverName } from '../workflows/receiver.js';

/** A timer of Temporal may fire a little early on Postgres's clock, ms. */
const EARLY = 100;
/** How long an activity waits for an attempt in the queue, ms: for its lease, and in all if it is leased. */
const ELSEWHERE = { queued: 1_000, leased: 20_000 };
/** Longest time between two looks for an attempt of another worker, ms. */
const LONGEST_LOOK = 500;
/** Activities that wait for an attempt at once, of the 200 that this worker runs. Each client has its share. */
const WAITING = 66;

/** Creates the activities of the workflow `deliverEvent`. */
export function createDeliverActivities(
  database: Handle,
  dispatcher: Pick<Dispatcher, 'take' | 'expectOrTell'>,
  log: Log,
): DeliverActivities & ReadDeliveriesActivities {
  /** The client of each activity that waits. */
  const waiting: string[] = [];

  /** Makes a queued attempt in this process, or waits while another process makes it. */
  const make = async (attempt: AttemptKeys): Promise<void> => {
    const { clientId, deliveryId } = attempt;
    const held = waiting.filter((id) => id === clientId).length;
    if (!withinShare(held, 1, WAITING - waiting.length)) return dispatcher.expectOrTell(attempt);
    waiting.push(clientId);
    try {
      const job = await dispatcher.take(attempt);
      if (job) job.attempt.isAwaited = true;
      await (job ? job.ended.promise : madeElsewhere(deliveryId));
    } finally {
      waiting.splice(waiting.indexOf(clientId), 1);
    }
  };

  /**
   * Waits until an attempt that was left in the queue is made: until it is leased, and then while it may be in flight.
   */
  const madeElsewhere = async (deliveryId: string): Promise<void> => {
    for (let waited = 0, look = 20; ; look = Math.min(2 * look, LONGEST_LOOK)) {
      await sleep(look);
      waited += look;
      const queued = await readLease(database, deliveryId);
      if (!queued || waited > (queued.isLeased ? ELSEWHERE.leased : ELSEWHERE.queued)) return;
    }
  };

  const read = async (request: DeliverRequest) =>
    (await readDelivery(database, request.deliveryId)) ?? { progress: removed(request, log), maxConcurrency: null };

  return {
    async deliver(request) {
      const { deliveryId, clientId, webhookId: endpointId } = request;
      await queueDue(database, [deliveryId], EARLY);
      const { maxConcurrency, ...before } = await read(request);
      let { progress } = before;
      if (isDue(progress, request)) {
        await make({ deliveryId, clientId, endpointId, maxConcurrency });
        ({ progress } = await read(request));
        if (isDue(progress, request)) return { ...progress, isQueued: true };
      }
      const hasFailed = progress.attemptCount > request.attemptCount && !/^2\d\d$/.test(progress.lastOutcome ?? '');
      if (hasFailed) throw attemptFailed(progress);
      return progress;
    },
    readDeliveries: (eventId) => readProgress(database, eventId),
  };
}

/** Whether the attempt that the workflow's timer called is still to be made. */
function isDue({ status, wait, attemptCount }: DeliveryProgress, request: DeliverRequest): boolean {
  return status === 'pending' && wait !== null && wait <= EARLY && attemptCount <= request.attemptCount;
}

/** A failed attempt is red in Temporal's UI, with its reason in one line. The workflow continues from the detail. */
function attemptFailed(progress: DeliveryProgress): ApplicationFailure {
  const { attemptCount, lastOutcome, status, nextAttemptAt } = progress;
  const next = status === 'pending' ? `next attempt at ${nextAttemptAt}` : `the delivery is ${status}`;
  return ApplicationFailure.create({
    type: ATTEMPT_FAILED,
    category: 'BENIGN',
    nonRetryable: true,
    message: `attempt ${attemptCount} to ${receiverName(progress)}: ${lastOutcome}; ${next}`,
    details: [progress],
  });
}

function removed({ eventId, clientId, ...rest }: DeliverRequest, log: Log): DeliveryProgress {
  const { deliveryId, webhookId } = rest;
  log.warn(
    { event_id: eventId, delivery_id: deliveryId, webhook_id: webhookId, client_id: clientId },
    'the delivery is gone: Postgres was restored to a point before its event, or retention removed it',
  );
  const state = { status: 'cancelled', reason: 'removed', lastOutcome: null, nextAttemptAt: null, wait: null } as const;
  return { ...rest, ...state };
}
