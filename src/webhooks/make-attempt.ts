import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { Recorder } from '../outbox/recorder.js';
import type { Log } from '../telemetry/log.js';
import type { ClaimedAttempt } from './claim.js';
import { disableEndpoint, isFailing } from './disable-endpoint.js';
import { type MadeAttempt, type RecordedAttempt, recordAttempts, type Settlement, type Trigger } from './record.js';
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
  const settlement = settle?.(outcome);
  const recorded = gone
    ? await recordGone(dependencies, claimed, attempt, settlement)
    : await dependencies.recorder.record(attempt, settlement);
  if (recorded?.status === 'failed' && !plan.single && !gone) await disableIfFailing(dependencies, claimed);
  return { outcome, recorded };
}

/** 410: this delivery failed, the endpoint is disabled and its other deliveries are cancelled, in one transaction. */
function recordGone(
  { database }: AttemptDependencies,
  claimed: ClaimedAttempt,
  attempt: MadeAttempt,
  settlement: Settlement | undefined,
): Promise<RecordedAttempt | undefined> {
  return database.transaction(async (tx) => {
    const [recorded] = await recordAttempts(tx, [attempt], settlement ? [settlement] : []);
    if (recorded?.status === 'failed' && !attempt.single) {
      await tx.prisma.delivery.update({ where: { id: claimed.deliveryId }, data: { reason: 'endpoint_gone' } });
      recorded.reason = 'endpoint_gone';
    }
    await disableEndpoint(tx, claimed.endpointId, 'gone');
    return recorded;
  });
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
