import type { AttemptError } from '../../../attempts.js';
import type { LastAttempt } from '../../../webhooks/read-attempts.js';

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
