import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { Recorder } from '../outbox/recorder.js';
import type { Log } from '../telemetry/log.js';
import type { ClaimedAttempt } from './claim.js';
import { disableEndpoint, isFailing } from './disable-endpoint.js';
import type { MadeAttempt, RecordedAttempt, Settlement, Trigger } from './record.js';
import type { Sender, SendOutcome } from './send.js';

export interface AttemptDependencies {
  database: Database;
  masterKeys: MasterKeys;
  sender: Sender;
  recorder: Recorder;
  /** ms; 0 = never (contract, Delivery on the wire) */
  disableAfter: number;
  log: Log;
}

export interface AttemptPlan {
  number: number;
  trigger: Trigger;
  /** ms to wait after a failure; null: the ladder ends here. */
  nextDelay: number | null;
  single: boolean;
}

export interface AttemptResult {
  outcome: SendOutcome;
  /** Undefined where this attempt had been recorded before. */
  recorded: RecordedAttempt | undefined;
}

/**
 * Makes one claimed attempt, the same for express lane and activity: sign, POST, record. Answers what the receiver did as a
 * value; throws only for faults of our own (an envelope that does not open, a record that cannot be written).
 * @param settle what becomes of the event with this attempt, written in the same statement
 */
export async function makeAttempt(
  dependencies: AttemptDependencies,
  claimed: ClaimedAttempt,
  plan: AttemptPlan,
  settle?: (outcome: SendOutcome) => Settlement | undefined,
): Promise<AttemptResult> {
  const { masterKeys, sender, log } = dependencies;
  const secret = masterKeys.open(claimed.secretEnvelope, claimed.endpointId);
  const outcome = await sender.send({ url: claimed.url, body: claimed.body, secret, clientId: claimed.clientId });
  const gone = outcome.responseStatus === 410;
  const attempt: MadeAttempt = {
    deliveryId: claimed.deliveryId,
    number: plan.number,
    trigger: plan.trigger,
    url: claimed.url,
    outcome,
    nextDelay: gone ? null : plan.nextDelay,
    single: plan.single,
  };
  log.info(describe(claimed, attempt), 'attempt');
  const recorded = await dependencies.recorder.record(attempt, settle?.(outcome));
  if (gone) await disableGone(dependencies, claimed);
  else if (recorded?.status === 'failed' && !plan.single) await disableIfFailing(dependencies, claimed);
  return { outcome, recorded };
}

/** Disabling that is under way, by endpoint. */
const disabling = new Map<string, Promise<void>>();

/**
 * 410: the endpoint is disabled and its other deliveries are cancelled. After the record and apart from it, and once for
 * a burst: transactions that each lock their own delivery and then all the others end in deadlocks, and hold every
 * connection meanwhile.
 */
function disableGone(dependencies: AttemptDependencies, { endpointId }: ClaimedAttempt): Promise<void> {
  const underWay =
    disabling.get(endpointId) ??
    disableNow(dependencies, endpointId).finally(() => {
      disabling.delete(endpointId);
    });
  disabling.set(endpointId, underWay);
  return underWay;
}

async function disableNow({ database, log }: AttemptDependencies, endpointId: string): Promise<void> {
  try {
    const disabled = await database.transaction((tx) => disableEndpoint(tx, endpointId, 'gone'));
    if (disabled) log.warn({ webhook_id: endpointId }, 'endpoint disabled: gone');
  } catch (error) {
    // The attempt is recorded; the endpoint's next 410 asks again.
    log.error({ err: error, webhook_id: endpointId }, 'could not disable an endpoint that is gone');
  }
}

async function disableIfFailing(dependencies: AttemptDependencies, { endpointId }: ClaimedAttempt): Promise<void> {
  const { database, disableAfter, log } = dependencies;
  try {
    const disabled =
      (await isFailing(database, endpointId, disableAfter)) &&
      (await database.transaction((tx) => disableEndpoint(tx, endpointId, 'failing')));
    if (disabled) log.warn({ webhook_id: endpointId }, 'endpoint disabled: failing');
  } catch (error) {
    // The attempt is recorded; the endpoint's next exhausted delivery asks again.
    log.error({ err: error, webhook_id: endpointId }, 'could not judge whether the endpoint is failing');
  }
}

/** The one wide log line of an attempt. The host alone: a path or query may hold a receiver's token. */
function describe(claimed: ClaimedAttempt, { number, trigger, outcome, nextDelay }: MadeAttempt): object {
  return {
    delivery_id: claimed.deliveryId,
    webhook_id: claimed.endpointId,
    client_id: claimed.clientId,
    host: hostOf(claimed.url),
    number,
    trigger,
    outcome: outcome.error ?? 'success',
    response_status: outcome.responseStatus,
    duration_ms: Math.round(outcome.durationMs),
    next_delay_ms: outcome.error ? nextDelay : undefined,
  };
}

/** Host and port of a receiver's URL, all of it that logs and workflow histories show. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
