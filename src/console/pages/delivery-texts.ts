import { relativeTime } from '../../platform/duration.js';
import type { AttemptError } from '../../platform/vocabulary.js';
import type { LastAttempt } from '../../reports/read-deliveries.js';
import type { TimelineDelivery } from '../../reports/read-events.js';
import { utcText } from '../components/values.js';

/** The outcome of a failed attempt as a sentence without its end; `status` and `redirect` name their status. */
const FAILURES: Readonly<Record<AttemptError, (status: number | null) => string>> = {
  dns: () => "The receiver's name could not be resolved",
  refused: () => 'The connection was refused',
  tls: () => 'TLS failed: the certificate is not trusted, or there is no TLS',
  timeout: () => 'The receiver did not respond in time',
  reset: () => 'The connection closed before a response',
  protocol: () => 'The response was not valid HTTP',
  blocked_address: () => "The receiver's address is blocked",
  redirect: (status) => `The receiver responded with a redirect (${status})`,
  status: (status) => `The receiver responded with ${status}`,
};

type Outcome = Pick<LastAttempt, 'error' | 'responseStatus'>;

function outcomeText({ error, responseStatus }: Outcome): string {
  return error === null ? `The receiver responded with ${responseStatus}` : FAILURES[error](responseStatus);
}

/** The latest responses: `The receiver responded with 503 twice.` Empty if nothing was attempted. */
export function receiverSentence(attempts: readonly Outcome[]): string {
  const last = attempts.at(-1);
  if (!last) return '';
  const text = outcomeText(last);
  const others = attempts.findLastIndex((attempt) => outcomeText(attempt) !== text);
  const times = attempts.length - 1 - others;
  return `${text}${timesText(times)}${times > 1 && others >= 0 ? ' in a row' : ''}.`;
}

const TIMES = ['', '', ' twice', ' three times', ' four times', ' five times', ' six times', ' seven times'];

function timesText(times: number): string {
  return TIMES[times] ?? `, ${times} times`;
}

type Delivery = Pick<
  TimelineDelivery,
  'status' | 'reason' | 'attemptCount' | 'nextAttemptAt' | 'finishedAt' | 'attempts' | 'endpoint'
>;

/**
 * Says what happens to a delivery next, or how it ended (`next`), and what the receiver responded so far (`until`; empty
 * if nothing was attempted). `announcement` is both without what changes every second.
 * @param now the server's clock
 */
export function whatHappensNext(delivery: Delivery, now: Date) {
  const until = [receiverSentence(delivery.attempts), afterManualRetry(delivery)].filter(Boolean).join(' ');
  const [stable, more] = sentence(delivery, now);
  return { next: stable + more, until, announcement: [stable, until].filter(Boolean).join(' ') };
}

/** @returns the part of the sentence that holds until something happens, and the part that changes by the second */
function sentence(delivery: Delivery, now: Date): [string, string] {
  const { status, attemptCount, nextAttemptAt, finishedAt } = delivery;
  const at = finishedAt ? ` at ${utcText(finishedAt)}` : '';
  switch (status) {
    case 'succeeded':
      return [`Delivered${byAttempt(delivery)}${at}.`, ''];
    case 'failed':
      return [`${FAILED[delivery.reason ?? ''] ?? 'Failed'}${at}. ${wayBack(delivery)}`, ''];
    case 'cancelled':
      return [`${CANCELLED[delivery.reason ?? ''] ?? 'Cancelled'}${at}. ${wayBack(delivery)}`, ''];
    case 'pending':
      return pending(attemptCount + 1, nextAttemptAt, now);
  }
}

/** The success need not be the latest attempt: a manual retry after it may have failed. */
function byAttempt({ attempts }: Delivery): string {
  const success = attempts.findLast(({ error }) => error === null);
  return success ? ` by attempt ${success.number}` : '';
}

/** A failed manual retry changes neither the status nor the planned attempts. */
function afterManualRetry({ status, attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (last?.trigger !== 'manual' || last.error === null) return '';
  return status === 'pending'
    ? 'The manual retry did not change the planned attempts.'
    : 'The manual retry did not change the status.';
}

function pending(number: number, at: Date | null, now: Date): [string, string] {
  if (at === null || at <= now) {
    const late = at !== null && now.getTime() - at.getTime() > LATE ? ` It was due ${relativeTime(at, now)}.` : '';
    return [`Attempt ${number} is in progress, or starts as soon as there is capacity.`, late];
  }
  return [`Waiting: attempt ${number} at ${utcText(at)}`, `, ${relativeTime(at, now)}.`];
}

/** An attempt takes up to 16 s; one that was due longer ago is late, ms. */
const LATE = 20_000;

const FAILED: Readonly<Record<string, string>> = {
  exhausted: 'Failed: every planned attempt failed',
  endpoint_gone: 'Failed: the receiver responded with 410, which disabled the endpoint',
};

const CANCELLED: Readonly<Record<string, string>> = {
  endpoint_disabled: 'Cancelled: the endpoint was disabled',
  endpoint_deleted: 'Cancelled: the endpoint was deleted',
  endpoint_gone: 'Cancelled: the endpoint was disabled after a response of 410',
};

function wayBack({ endpoint }: Delivery): string {
  if (endpoint.deletedAt !== null) return 'The endpoint is deleted, so it cannot be sent again.';
  if (!endpoint.enabled)
    return 'To send it, enable the endpoint, then retry it here or recover everything that was missed.';
  return 'There are no more automatic retries. Once the receiver works, send it again here.';
}

/** What a manual retry would change. It uses up no planned attempt. */
export function retryEffect({ status, nextAttemptAt }: Delivery): string {
  const time = nextAttemptAt && nextAttemptAt > new Date() ? ` at ${utcText(nextAttemptAt)}` : '';
  switch (status) {
    case 'pending':
      return `Sends it now as an extra attempt. If that fails, the next planned attempt${time} and those after it stay.`;
    case 'succeeded':
      return 'Sends the same event again, with the same id. The status stays succeeded whatever the receiver responds.';
    default:
      return `Sends it once. If that fails, the status stays ${status}.`;
  }
}

/** Whether the receiver rejected the request, perhaps because of its signature. */
export const isRejection = ({ responseStatus }: Pick<LastAttempt, 'responseStatus'>) =>
  responseStatus !== null && responseStatus >= 400 && responseStatus < 500 && !NO_REJECTIONS.includes(responseStatus);

/** Not found, method not allowed, timeout, gone, too many requests: these do not concern the signature. */
const NO_REJECTIONS = [404, 405, 408, 410, 429];
