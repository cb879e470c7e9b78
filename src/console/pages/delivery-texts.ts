import type { AttemptError } from '../../platform/vocabulary.js';
import type { LastAttempt } from '../../reports/read-deliveries.js';
import type { TimelineDelivery } from '../../reports/read-events.js';

const FAILURES: Readonly<Record<Exclude<AttemptError, 'status'>, string>> = {
  dns: "The receiver's name could not be resolved",
  refused: 'The connection was refused',
  tls: 'TLS failed: the certificate is not trusted, or there is no TLS',
  timeout: 'The receiver did not respond in time',
  reset: 'The connection closed before a response',
  protocol: 'The response was not valid HTTP',
  blocked_address: "The receiver's address is blocked",
  redirect: 'The receiver responded with a redirect, which is not followed',
};

/** The outcome of an attempt as a sentence without its end: `The receiver responded with 503`. */
export function outcomeText({ error, responseStatus }: Pick<LastAttempt, 'error' | 'responseStatus'>): string {
  return error === null || error === 'status' ? `The receiver responded with ${responseStatus}` : FAILURES[error];
}

type Delivery = Pick<TimelineDelivery, 'status' | 'reason' | 'attemptCount' | 'nextAttemptAt' | 'endpoint'>;

/** What happens to a delivery next, or how it ended. @param now the server's clock */
export function whatHappensNext(delivery: Delivery, now: Date): string {
  const { status, reason, attemptCount, nextAttemptAt, endpoint } = delivery;
  if (status === 'pending') {
    return nextAttemptAt && nextAttemptAt > now
      ? `Waiting: attempt ${attemptCount + 1} is planned.`
      : `Attempt ${attemptCount + 1} is in progress, or starts as soon as there is capacity.`;
  }
  if (status === 'succeeded') return 'Delivered.';
  return `${ENDS[status]}${reason === null ? '' : `: ${REASONS[reason]}`}. ${wayBack(endpoint)}`;
}

const ENDS = { failed: 'Failed', cancelled: 'Cancelled' };

const REASONS: Readonly<Record<string, string>> = {
  exhausted: 'every planned attempt failed',
  endpoint_gone: 'the receiver responded with 410, which disabled the endpoint',
  endpoint_disabled: 'the endpoint was disabled',
  endpoint_deleted: 'the endpoint was deleted',
};

function wayBack({ enabled, deletedAt }: Delivery['endpoint']): string {
  if (deletedAt !== null) return 'The endpoint is deleted, so it cannot be sent again.';
  return enabled
    ? 'There are no more automatic retries. Once the receiver works, send it again here.'
    : 'To send it, enable the endpoint, then retry it here or recover everything that was missed.';
}
