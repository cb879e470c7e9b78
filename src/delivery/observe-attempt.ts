import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { timeOf } from '../platform/ids.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { currentTraceId, inSpan } from '../platform/telemetry/traces.js';
import type { LeasedAttempt } from './handover.js';
import type { SendOutcome } from './sender/send.js';

export interface AttemptObservers {
  metrics: Pick<Metrics, 'attemptMade'>;
  log: Log;
}

/**
 * Makes a POST and reports it as a span, one wide log line and one metric observation. The span and the log line have
 * only the host of the URL, since a path or query may hold a receiver's token. The request carries no trace header,
 * since the spec fixes what is sent.
 */
export function observeAttempt(
  { metrics, log }: AttemptObservers,
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
    const outcome = await post();
    setOutcome(span, outcome);
    metrics.attemptMade({
      trigger: attempt.trigger,
      error: outcome.error,
      durationMs: outcome.durationMs,
      delayMs: isFirst(attempt) ? outcome.startedAt.getTime() - timeOf(attempt.eventId) : undefined,
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
