import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Dispatcher } from '../src/delivery/dispatcher.js';
import type { AttemptKeys } from '../src/delivery/handover.js';
import { queueDue, readLease } from '../src/delivery/queue.js';
import { readDelivery, readProgress } from '../src/delivery/workflow-starter.js';
import type { Handle } from '../src/platform/database/database.js';
import type { Log } from '../src/platform/telemetry/log.js';
import {
  ATTEMPT_FAILED,
  type DeliverActivities,
  type DeliverRequest,
  type DeliveryProgress,
  type ReadDeliveriesActivities,
} from '../workflows/deliver-event.input.js';

/** A timer of Temporal may fire a little early on Postgres's clock, ms. */
const EARLY = 100;
/** An activity waits this long for a slot, ms. Then it asks again later. */
const PATIENCE = 1_000;
/** An attempt in flight at another worker is awaited so long, ms: it takes at most 16 s, and is recorded. */
const ELSEWHERE = 20_000;
/** Longest time between two looks for an attempt of another worker, ms. */
const LONGEST_LOOK = 500;
/** Activities that wait for a slot at once, of the 200 that this worker runs. */
const WAITING = 66;
/** Longest delay before an activity without a slot asks again, ms. */
const LONGEST_DELAY = 60_000;
/**
 * Activities a second, over all clients, that ask again. A thousand of them may wait for a dead receiver; the limit keeps
 * them to a part of the fifty a second that the dev server carries.
 */
const ASKED_AGAIN = 10;

/** Creates the activities of the workflow `deliverEvent`. */
export function createDeliverActivities(
  database: Handle,
  dispatcher: Pick<Dispatcher, 'avoids' | 'leaseNow' | 'result'>,
  log: Log,
): DeliverActivities & ReadDeliveriesActivities {
  const pacer = new RetryPacer(ASKED_AGAIN);
  let waiting = 0;

  /** Has a queued attempt made: by this process if it has a slot for it in time, or by a worker that has the slots. */
  const make = async (attempt: AttemptKeys): Promise<void> => {
    if (waiting >= WAITING) return;
    waiting++;
    try {
      if (dispatcher.avoids(attempt)) {
        await dispatcher.leaseNow(attempt);
        await madeElsewhere(attempt.deliveryId);
        return;
      }
      const made = dispatcher.result(attempt.deliveryId, PATIENCE);
      await dispatcher.leaseNow(attempt);
      await made;
    } finally {
      waiting--;
    }
  };

  /** Waits until another worker has made the attempt: until it is leased, and then while it may be in flight. */
  const madeElsewhere = async (deliveryId: string): Promise<void> => {
    for (let waited = 0, look = 20; ; look = Math.min(2 * look, LONGEST_LOOK)) {
      await sleep(look);
      waited += look;
      const queued = await readLease(database, deliveryId);
      if (!queued || waited > (queued.isLeased ? ELSEWHERE : PATIENCE)) return;
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
        if (isDue(progress, request)) throw noSlot(activityInfo().attempt, pacer.next(clientId, Date.now()));
      }
      const hasFailed = progress.attemptCount > request.attemptCount && !isSuccess(progress.lastOutcome);
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

const isSuccess = (outcome: string | null) => outcome !== null && /^2\d\d$/.test(outcome);

/** A failed attempt is red in Temporal's UI, with its reason in one line. The workflow continues from the detail. */
function attemptFailed(progress: DeliveryProgress): ApplicationFailure {
  const { attemptCount, host, lastOutcome, status, nextAttemptAt } = progress;
  const next = status === 'pending' ? `next attempt at ${nextAttemptAt}` : `the delivery is ${status}`;
  return ApplicationFailure.create({
    type: ATTEMPT_FAILED,
    category: 'BENIGN',
    nonRetryable: true,
    message: `attempt ${attemptCount} to ${host}: ${lastOutcome}; ${next}`,
    details: [progress],
  });
}

function removed({ eventId, deliveryId, clientId, webhookId, host, ...rest }: DeliverRequest, log: Log) {
  log.warn(
    { event_id: eventId, delivery_id: deliveryId, webhook_id: webhookId, client_id: clientId },
    'the delivery is gone: Postgres was restored to a point before its event, or retention removed it',
  );
  const state = { status: 'cancelled', reason: 'removed', lastOutcome: null, nextAttemptAt: null, wait: null } as const;
  return { deliveryId, webhookId, host, attemptCount: rest.attemptCount, ...state };
}

/**
 * The attempt stays in the queue, where any worker makes it, or another worker is making it. Temporal asks again after 1 s,
 * growing to 60 s, with jitter; while many activities of the client ask, after `turn` ms at the earliest.
 */
function noSlot(attempt: number, turn: number): ApplicationFailure {
  const delay = Math.min(LONGEST_DELAY, 1_000 * 2 ** Math.min(attempt - 1, 6));
  return ApplicationFailure.create({
    type: 'NoSlot',
    category: 'BENIGN',
    message: 'no slot is free for this receiver or this client, or another process makes the attempt; it is queued',
    nextRetryDelay: Math.round(Math.max(turn, delay * (0.5 + Math.random() / 2))),
  });
}

/**
 * Decides when an activity asks again that found no slot: at most `perSecond`
 * turns in all, shared equally by the clients that wait. With thousands of activities that wait for one slow receiver,
 * the delay grows with their number, and asking costs Temporal no more than with a hundred (the generic cell rate
 * algorithm, one cell a turn).
 */
export class RetryPacer {
  /** The time up to which a client's turns are taken, ms. */
  readonly #takenUntil = new Map<string, number>();

  constructor(private readonly perSecond: number) {}

  /** Takes the next turn of this client. @returns ms until that turn; 0 when no other activity of the client waits */
  next(clientId: string, now: number): number {
    for (const [id, until] of this.#takenUntil) if (until <= now) this.#takenUntil.delete(id);
    const turn = Math.max(now, this.#takenUntil.get(clientId) ?? 0);
    this.#takenUntil.set(clientId, turn);
    this.#takenUntil.set(clientId, turn + (1_000 / this.perSecond) * this.#takenUntil.size);
    return turn - now;
  }
}
