import { LONGEST_PAUSE } from '../endpoints/health.js';
import type { SendOutcome } from './sender/send.js';

/**
 * How long a receiver asks to be spared, in seconds, at most ten minutes: by `Retry-After` of a 429 or 503 (RFC 9110
 * §10.2.3), in seconds or as a date. A date counts from the receiver's own `Date`, since its clock may differ. Null: it
 * does not ask.
 */
export function pauseOf({ responseStatus, responseHeaders, startedAt, durationMs }: PausedOutcome): number | null {
  if (responseStatus !== 429 && responseStatus !== 503) return null;
  const { 'retry-after': text = '', date = '' } = responseHeaders ?? {};
  const now = httpDate(date) || startedAt.getTime() + durationMs;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((httpDate(text) - now) / 1_000);
  return seconds > 0 ? Math.min(seconds, LONGEST_PAUSE) : null;
}

type PausedOutcome = Pick<SendOutcome, 'responseStatus' | 'responseHeaders' | 'startedAt' | 'durationMs'>;

/** In ms since 1970; NaN for what is no date of HTTP (RFC 9110 §5.6.7), whose oldest form names no zone. */
function httpDate(text: string): number {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
