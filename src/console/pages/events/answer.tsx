import type { LastAttempt } from '../../../webhooks/read-attempts.js';

/** The outcome of an attempt in a word: the status of the answer, or why there was none. */
export function Answer({
  outcome: { error, responseStatus },
}: {
  outcome: Pick<LastAttempt, 'error' | 'responseStatus'>;
}) {
  return <span class={`badge ${error === null ? 'good' : 'bad'}`}>{responseStatus ?? error}</span>;
}
