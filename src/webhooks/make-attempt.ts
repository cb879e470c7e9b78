import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { failpoint } from '../failpoints.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { ClaimedAttempt } from './claim.js';
import { disableEndpoint, isFailing } from './disable-endpoint.js';
import { observeAttempt } from './observe-attempt.js';
import type { AttemptPlan, MadeAttempt, RecordedAttempt, Settlement } from './record.js';
import type { Recorder } from './recorder.js';
import type { Sender, SendOutcome } from './sender/send.js';

export interface AttemptDependencies {
  database: Database;
  masterKeys: MasterKeys;
  sender: Sender;
  recorder: Recorder;
  /** ms; 0 = never (contract, Delivery on the wire) */
  disableAfter: number;
  metrics: Pick<Metrics, 'attemptMade' | 'endpointDisabled'>;
  log: Log;
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
  const { masterKeys, sender } = dependencies;
  const secret = masterKeys.open(claimed.secretEnvelope, claimed.endpointId);
  failpoint('before-post');
  const outcome = await observeAttempt(dependencies, claimed, plan, () =>
    sender.send({ url: claimed.url, body: claimed.body, secret, clientId: claimed.clientId }),
  );
  failpoint('after-post');
  const gone = outcome.responseStatus === 410;
  // First: who sees the delivery as failed sees the endpoint disabled, and a crash in between loses neither.
  const disabled = gone && (await disableGone(dependencies, claimed));
  const attempt: MadeAttempt = {
    deliveryId: claimed.deliveryId,
    number: plan.number,
    trigger: plan.trigger,
    url: claimed.url,
    outcome,
    nextDelay: gone ? null : plan.nextDelay,
    single: plan.single,
  };
  const recorded = await dependencies.recorder.record(attempt, settle?.(outcome));
  // Postgres was away, and is back now that the record is written.
  if (gone && !disabled) await disableGone(dependencies, claimed);
  if (!gone && recorded?.status === 'failed' && !plan.single) await disableIfFailing(dependencies, claimed);
  return { outcome, recorded };
}

/** Disabling that is under way, by endpoint. */
const disabling = new Map<string, Promise<boolean>>();

/**
 * 410: the endpoint is disabled and its other deliveries are cancelled. Apart from the record, and once for a burst:
 * transactions that each lock their own delivery and then all the others end in deadlocks, and hold every connection
 * meanwhile.
 * @returns whether it is disabled now
 */
function disableGone(dependencies: AttemptDependencies, { endpointId, deliveryId }: ClaimedAttempt): Promise<boolean> {
  const underWay =
    disabling.get(endpointId) ??
    disableNow(dependencies, endpointId, deliveryId).finally(() => {
      disabling.delete(endpointId);
    });
  disabling.set(endpointId, underWay);
  return underWay;
}

async function disableNow(
  { database, metrics, log }: AttemptDependencies,
  endpointId: string,
  deliveryId: string,
): Promise<boolean> {
  failpoint('before-disable');
  try {
    const byUs = await database.transaction((tx) => disableEndpoint(tx, endpointId, 'gone', deliveryId));
    if (byUs) {
      metrics.endpointDisabled('gone');
      log.warn({ webhook_id: endpointId }, 'endpoint disabled: gone');
    }
    return true;
  } catch (error) {
    log.error({ err: error, webhook_id: endpointId }, 'could not disable an endpoint that is gone');
    return false;
  }
}

async function disableIfFailing(dependencies: AttemptDependencies, { endpointId }: ClaimedAttempt): Promise<void> {
  const { database, disableAfter, metrics, log } = dependencies;
  try {
    const disabled =
      (await isFailing(database, endpointId, disableAfter)) &&
      (await database.transaction((tx) => disableEndpoint(tx, endpointId, 'failing')));
    if (!disabled) return;
    metrics.endpointDisabled('failing');
    log.warn({ webhook_id: endpointId }, 'endpoint disabled: failing');
  } catch (error) {
    // The attempt is recorded; the endpoint's next exhausted delivery asks again.
    log.error({ err: error, webhook_id: endpointId }, 'could not judge whether the endpoint is failing');
  }
}
