import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { timeOf } from '../ids.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { currentTraceId, inSpan } from '../telemetry/traces.js';
import type { ClaimedAttempt } from './claim.js';
import type { AttemptPlan } from './record.js';
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
  claimed: ClaimedAttempt,
  plan: AttemptPlan,
  post: () => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const url = new URL(claimed.url);
  const attributes = {
    'http.request.method': 'POST',
    'server.address': url.hostname,
    event_id: claimed.eventId,
    delivery_id: claimed.deliveryId,
    attempt: plan.number,
    trigger: plan.trigger,
  };
  const { traceparent } = claimed;
  return inSpan(`POST ${url.host}`, { kind: SpanKind.CLIENT, attributes, traceparent }, async (span) => {
    const outcome = await post();
    setOutcome(span, outcome);
    metrics.attemptMade({
      trigger: plan.trigger,
      error: outcome.error,
      durationMs: outcome.durationMs,
      delayMs: isFirst(plan) ? outcome.startedAt.getTime() - timeOf(claimed.eventId) : undefined,
    });
    log.info(
      {
        event_id: claimed.eventId,
        delivery_id: claimed.deliveryId,
        webhook_id: claimed.endpointId,
        client_id: claimed.clientId,
        trace_id: currentTraceId(),
        host: url.host,
        number: plan.number,
        rung: plan.single ? undefined : claimed.rung,
        trigger: plan.trigger,
        outcome: outcome.error ?? 'success',
        response_status: outcome.responseStatus,
        duration_ms: Math.round(outcome.durationMs),
        // A 410 ends the ladder.
        next_delay_ms: outcome.error && outcome.responseStatus !== 410 ? plan.nextDelay : undefined,
      },
      'attempt',
    );
    return outcome;
  });
}

/** True for the delivery's very first attempt, not for the first attempt of a ladder that was started again. */
const isFirst = ({ number, trigger }: AttemptPlan) => number === 1 && trigger === 'schedule';

function setOutcome(span: Span, { responseStatus, error }: SendOutcome): void {
  if (responseStatus !== null) span.setAttribute('http.response.status_code', responseStatus);
  if (error === null) return;
  span.setAttribute('error.type', error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
