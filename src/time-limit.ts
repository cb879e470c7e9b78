/**
 * The result of `work`, or a rejection when it has not ended within `limit` ms. A later result is dropped. A result that
 * arrived in time counts also where this process was too busy to read it: an event loop that is late runs its timers
 * first, so the rejection waits until the loop has read its sockets once.
 * @param error makes the rejection
 */
export function within<T>(
  limit: number,
  work: Promise<T>,
  error: () => Error = () => new Error(`no result within ${limit} ms`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(error())), limit);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
