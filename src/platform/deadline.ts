import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The result of `work`, or a rejection when it has not ended within `limit` ms. A later result is dropped. A result
 * that arrived in time counts also where this process was too busy to read it: an event loop that is late runs its
 * timers first, so the rejection waits until the loop has read its sockets once.
 * @param error makes the rejection
 */
export function within<T>(
  limit: number,
  work: Promise<T>,
  error: () => Error = () => new Error(`no result within ${limit} ms`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(error())), Math.max(limit, 0));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Shares one reading of another system between callers: one reading at a time, and its value is kept for `keep` ms. The
 * result is undefined when the reading fails or takes longer than `limit` ms. A reading that takes longer continues,
 * and the next caller waits for it.
 */
export function shareReading<T>(
  read: () => Promise<T>,
  { keep, limit }: { keep: number; limit: number },
): () => Promise<T | undefined> {
  let running: Promise<T> | undefined;
  let kept: { value: T; at: number } | undefined;
  return async () => {
    if (kept && performance.now() - kept.at < keep) return kept.value;
    running ??= read().finally(() => {
      running = undefined;
    });
    try {
      const value = await within(limit, running);
      kept = { value, at: performance.now() };
      return value;
    } catch {
      return undefined;
    }
  };
}

/** `at`: the time until which the request that runs may commit a change, by `performance.now()`. */
const deadlines = new AsyncLocalStorage<{ at: number }>();

/** The work of a request took longer than its limit. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/**
 * The result of `work`, or a rejection after `limit` ms. Work that continues after it commits nothing: each transaction
 * calls `throwIfLate` before it begins and before it commits.
 * @throws DeadlinePassed
 */
export function withDeadline<T>(limit: number, work: () => Promise<T>): Promise<T> {
  const deadline = { at: performance.now() + limit };
  const late = () => {
    // Timers count whole milliseconds, so one may fire up to 1 ms before `at`.
    deadline.at = Number.NEGATIVE_INFINITY;
    return new DeadlinePassed(`the request was not answered within ${limit} ms`);
  };
  return within(limit, deadlines.run(deadline, work), late);
}

/**
 * Runs `work` that is not bound to the deadline of the present request: what the request does not wait for, such as the
 * deliveries of its event, and what several requests share.
 */
export function withoutDeadline<T>(work: () => T): T {
  return deadlines.exit(work);
}

/** Time until the deadline of the present request, ms; infinite without one. */
export function timeLeft(): number {
  return (deadlines.getStore()?.at ?? Number.POSITIVE_INFINITY) - performance.now();
}

/** @throws DeadlinePassed */
export function throwIfLate(): void {
  if (timeLeft() <= 0) {
    throw new DeadlinePassed('the request was answered before its transaction could be committed');
  }
}
