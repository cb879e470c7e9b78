import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { disableEndpoint } from '../endpoints/disable.js';
import { openHeaders } from '../endpoints/headers.js';
import { isFailing } from '../endpoints/health.js';
import type { EndpointHours } from '../endpoints/hours.js';
import { recordAudit } from '../platform/audit.js';
import { Batcher } from '../platform/database/batcher.js';
import type { Database, Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { failpoint } from '../platform/failpoints.js';
import { timeOf } from '../platform/ids.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { currentTraceId, inSpan } from '../platform/telemetry/traces.js';
import type { LeasedAttempt } from './handover.js';
import { readTargets } from './queue.js';
import type { RecordedAttempt, Recorder } from './record.js';
import type { Sender, SendOutcome } from './sender/send.js';

export interface AttemptDependencies {
  database: Database;
  masterKeys: MasterKeys;
  sender: Sender;
  recorder: Recorder;
  /** Counts recorded attempts for the console. */
  endpointHours: Pick<EndpointHours, 'count'>;
  /** Time without success after which a failing endpoint is disabled, ms; 0: never. */
  disableAfter: number;
  metrics: Pick<Metrics, 'attemptMade' | 'endpointDisabled'>;
  /** Postgres's clock, ms since 1970. */
  clock: { now: number };
  log: Log;
}

export interface AttemptResult {
  outcome: SendOutcome;
  /**
   * Undefined if an attempt with this number was already recorded: another one, or this one by a statement whose reply
   * was lost.
   */
  recorded: RecordedAttempt | undefined;
}

/**
 * Makes one attempt: signs, sends and records it. The receiver's response or failure is the returned value.
 * @param onAnswered called when the response or the failure is there, before it is recorded
 * @throws only for faults of this service (an envelope that does not open, a record that cannot be written)
 */
export async function makeAttempt(
  dependencies: AttemptDependencies,
  attempt: LeasedAttempt,
  onAnswered: () => void,
): Promise<AttemptResult> {
  const { masterKeys, sender } = dependencies;
  const secret = masterKeys.open(attempt.secretEnvelope, attempt.endpointId);
  const headers = openHeaders(masterKeys, attempt.endpointId, attempt.headersEnvelope);
  failpoint('before-post');
  const outcome = await observeAttempt(dependencies, attempt, () =>
    sender.send({
      url: attempt.url,
      body: attempt.body,
      secret,
      headers,
      standardId: attempt.signsStandard ? attempt.eventId : undefined,
      clientId: attempt.clientId,
    }),
  );
  failpoint('after-post');
  onAnswered();
  const recorded = await dependencies.recorder.record({ attempt, outcome, endedAt: performance.now() });
  if (recorded) dependencies.endpointHours.count(attempt.endpointId, outcome, attempt.clientId);
  // After a crash before this point, or a lost reply, the endpoint's next 410 disables it.
  if (recorded && outcome.responseStatus === 410) await disableInTurn(dependencies, attempt, 'gone');
  else if (recorded?.status === 'failed' && attempt.trigger !== 'manual')
    await disableInTurn(dependencies, attempt, 'failing');
  return { outcome, recorded };
}

/** The endpoints that this process is disabling, with reason and URL. */
const disabling = new Set<string>();

/**
 * Disables an endpoint that responded 410 or is failing, and cancels its pending deliveries. This runs apart from the
 * record, and one at a time for an endpoint: transactions that each lock their own delivery and then all others would
 * deadlock, and would hold every connection meanwhile. An attempt that is recorded during one leaves it to that one.
 */
async function disableInTurn(
  dependencies: AttemptDependencies,
  attempt: LeasedAttempt,
  reason: 'gone' | 'failing',
): Promise<void> {
  const key = `${reason} ${attempt.endpointId} ${attempt.url}`;
  if (disabling.has(key)) return;
  disabling.add(key);
  await disable(dependencies, attempt, reason).finally(() => disabling.delete(key));
}

/** If this call is the one that disables the endpoint, the log and the metrics report it. Never rejects. */
async function disable(
  { database, disableAfter, metrics, log }: AttemptDependencies,
  { endpointId, clientId, url }: LeasedAttempt,
  reason: 'gone' | 'failing',
): Promise<void> {
  try {
    failpoint('before-disable');
    if (reason === 'failing' && !(await isFailing(database, endpointId, disableAfter))) return;
    // The owner may have registered another URL than the one that responded 410.
    const ofUrl = reason === 'gone' ? url : undefined;
    const disabled = await database.transaction(async (tx) => {
      const cancelled = await disableEndpoint(tx, endpointId, reason, ofUrl);
      if (cancelled === undefined) return false;
      const details = { client_id: clientId, reason, cancelled };
      await recordAudit(tx, { actor: 'service', action: 'endpoints.disable', target: endpointId, details });
      return true;
    });
    if (!disabled) return;
    metrics.endpointDisabled(reason);
    log.warn({ webhook_id: endpointId }, `endpoint disabled: ${reason}`);
  } catch (error) {
    // The attempt is recorded. The endpoint's next such attempt does it.
    log.error({ err: error, webhook_id: endpointId }, `could not disable an endpoint that is ${reason}`);
  }
}

/**
 * Makes a POST and reports it as a span, one wide log line and one metric observation. The span and the log line have
 * only the host of the URL, since a path or query may hold a receiver's token. The request carries no trace header,
 * since what is sent is fixed.
 */
function observeAttempt(
  { metrics, clock, log }: AttemptDependencies,
  attempt: LeasedAttempt,
  post: () => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const url = new URL(attempt.url);
  const attributes = {
    'http.request.method': 'POST',
    'server.address': url.hostname,
    event_id: attempt.eventId,
    delivery_id: attempt.deliveryId,
    attempt: attempt.number,
    trigger: attempt.trigger,
  };
  const { traceparent } = attempt;
  return inSpan(`POST ${url.host}`, { kind: SpanKind.CLIENT, attributes, traceparent }, async (span) => {
    const startedAt = clock.now;
    const outcome = await post();
    setOutcome(span, outcome);
    metrics.attemptMade({
      trigger: attempt.trigger,
      error: outcome.error,
      durationMs: outcome.durationMs,
      delayMs: isFirst(attempt) ? startedAt - timeOf(attempt.eventId) : undefined,
    });
    log.info(
      {
        event_id: attempt.eventId,
        delivery_id: attempt.deliveryId,
        webhook_id: attempt.endpointId,
        client_id: attempt.clientId,
        trace_id: currentTraceId(),
        host: url.host,
        number: attempt.number,
        trigger: attempt.trigger,
        outcome: outcome.error ?? 'success',
        response_status: outcome.responseStatus,
        duration_ms: Math.round(outcome.durationMs),
      },
      'attempt',
    );
    return outcome;
  });
}

/** True for the delivery's very first attempt, not for the first attempt of a ladder that was started again. */
const isFirst = ({ number, trigger }: LeasedAttempt) => number === 1 && trigger === 'schedule';

function setOutcome(span: Span, { responseStatus, error }: SendOutcome): void {
  if (responseStatus !== null) span.setAttribute('http.response.status_code', responseStatus);
  if (error === null) return;
  span.setAttribute('error.type', error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/**
 * An attempt that starts within this time after its lease, ms, has not waited. At full speed most take 10 ms, and a
 * look at each of them costs a fifth of the rate.
 */
const NOT_WAITED = 50;
/** Rows that one statement reads. */
const BATCH = 200;

/**
 * Makes the look at an attempt that is about to start: whether it may still be made, since its endpoint is active and
 * its delivery was not cancelled, and where to. An attempt that has waited asks the rows, and those that wait at the
 * same moment share a statement.
 * @returns the look; `leasedAt` is by `performance.now()`. It returns the attempt, or undefined if it may not be made.
 */
export function lookAgain(db: Handle, token: string) {
  const targets = new Batcher({
    run: (attempts: readonly LeasedAttempt[]) => readTargets(db, token, attempts),
    size: BATCH,
  });
  return async (attempt: LeasedAttempt, leasedAt: number): Promise<LeasedAttempt | undefined> => {
    if (performance.now() - leasedAt <= NOT_WAITED) return attempt;
    const target = await targets.run(attempt);
    return target && { ...attempt, ...target };
  };
}
