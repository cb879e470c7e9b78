import { relativeTime } from '../../platform/duration.js';
import type { AttemptError } from '../../platform/vocabulary.js';
import type { LastAttempt } from '../../reports/read-deliveries.js';
import type { StoryDelivery } from '../../reports/read-events.js';
import { utcText } from '../components/values.js';

/** The outcome of an attempt as the end of a sentence about the receiver; `status` and `redirect` name their status. */
const FAILURES: Readonly<Record<AttemptError, (status: number | null) => string>> = {
  dns: () => "The receiver's name could not be resolved",
  refused: () => 'The connection was refused',
  tls: () => 'No trusted TLS connection was possible',
  timeout: () => 'The receiver did not answer in time',
  reset: () => 'The connection broke before an answer',
  protocol: () => 'The receiver did not answer in HTTP',
  blocked_address: () => "The receiver's address is blocked",
  redirect: (status) => `The receiver answered with a redirect (${status})`,
  status: (status) => `The receiver answered ${status}`,
};

type Outcome = Pick<LastAttempt, 'error' | 'responseStatus'>;

function outcomeText({ error, responseStatus }: Outcome): string {
  return error === null ? `The receiver answered ${responseStatus}` : FAILURES[error](responseStatus);
}

/** What the receiver did lately: `The receiver answered 503 twice.` Empty where nothing was attempted. */
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
  StoryDelivery,
  'status' | 'reason' | 'attemptCount' | 'nextAttemptAt' | 'finishedAt' | 'attempts' | 'endpoint'
>;

/**
 * Says in plain words what happens to a delivery next, or how it ended (`next`), and what the receiver did until now
 * (`until`; empty where nothing was attempted). `announcement` is both without what changes by the second.
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
      return [`Delivered${byAttempt(delivery)}${at}. Nothing more is sent.`, ''];
    case 'failed':
      return [`${FAILED[delivery.reason ?? ''] ?? 'Failed'}${at}. ${wayBack(delivery)}`, ''];
    case 'cancelled':
      return [`${CANCELLED[delivery.reason ?? ''] ?? 'Cancelled'}${at}. ${wayBack(delivery)}`, ''];
    case 'pending':
      return pending(attemptCount + 1, nextAttemptAt, now);
  }
}

/** A manual retry that failed after the success is the latest attempt. */
function byAttempt({ attempts }: Delivery): string {
  const success = attempts.findLast(({ error }) => error === null);
  return success ? ` by attempt ${success.number}` : '';
}

/** A manual retry is one attempt more: its failure leaves the delivery and its planned attempts as they were. */
function afterManualRetry({ status, attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (last?.trigger !== 'manual' || last.error === null) return '';
  return status === 'pending'
    ? 'The manual retry left the planned attempts as they were.'
    : 'The manual retry left the status as it was.';
}

function pending(number: number, at: Date | null, now: Date): [string, string] {
  if (at === null || at <= now) {
    const late = at !== null && now.getTime() - at.getTime() > LATE ? ` It was planned ${relativeTime(at, now)}.` : '';
    return [`Attempt ${number} is being made now, or starts as soon as there is capacity.`, late];
  }
  return [`Waiting: attempt ${number} at ${utcText(at)}`, `, ${relativeTime(at, now)}.`];
}

/** An attempt takes up to 16 s. Later than this it is late, ms. */
const LATE = 20_000;

const FAILED: Readonly<Record<string, string>> = {
  exhausted: 'Failed: every planned attempt was used',
  endpoint_gone: 'Failed: the receiver answered 410, which disabled the endpoint',
};

const CANCELLED: Readonly<Record<string, string>> = {
  endpoint_disabled: 'Cancelled: the endpoint was disabled',
  endpoint_deleted: 'Cancelled: the endpoint was deleted',
  endpoint_gone: 'Cancelled: the endpoint was disabled after an answer of 410',
};

function wayBack({ endpoint }: Delivery): string {
  if (endpoint.deletedAt !== null) return 'The endpoint is deleted, so that it cannot be sent again.';
  if (!endpoint.enabled) return 'To send it, enable the endpoint; then retry it here, or recover all that was missed.';
  return 'There are no more automatic retries. When the receiver works, retry it here.';
}
