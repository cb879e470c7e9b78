import type { TransferServiceError } from './error.js';
import { sleep } from './time-limit.js';

/** A failed try, inside this package only: `error` is what the caller of the client gets when no try is left. */
export class Failure {
  constructor(
    readonly error: TransferServiceError,
    /** Undefined: another try cannot help, or could do something twice. Otherwise the least time to wait, ms. */
    readonly retryAfter: number | undefined,
    readonly more: {
      /** The next try follows without a delay, because this one used an old token. */
      immediately?: boolean;
      /** The request may have taken effect all the same. */
      outcomeUnknown?: boolean;
    } = {},
  ) {}
}

export const MOST_TRIES = 4;
/** The time for all tries of a call together, ms. */
export const MOST_TIME = 60_000;

/** The longest random delay after the first, second and third try, ms. */
const LONGEST_DELAYS = [1_000, 4_000, 16_000];

/**
 * Calls `once` until it returns, at most four times. The delay between two tries is random between 0 and a growing
 * bound ("full jitter"), after the time that `Retry-After` asks for, so that clients do not come back all at once.
 * @param deadline by `performance.now()`; a delay that would pass it is not begun
 * @throws TransferServiceError of the last try, or the reason of `signal`
 */
export async function withRetries<Result>(
  { deadline, signal }: { deadline: number; signal?: AbortSignal | undefined },
  once: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once();
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      const longest = LONGEST_DELAYS[attempt - 1];
      if (failure.retryAfter === undefined || longest === undefined) throw failure.error;
      const delay = failure.more.immediately ? 0 : failure.retryAfter + Math.random() * longest;
      if (performance.now() + delay >= deadline) throw failure.error;
      await sleep(delay, signal);
    }
  }
}

/** The value of a `Retry-After` header (RFC 9110 §10.2.3) in ms; 0 if there is none that can be read. */
export function parseRetryAfter(value: string | null, now = Date.now()): number {
  if (value === null) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? 0 : Math.max(0, time - now);
}
