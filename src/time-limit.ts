/**
 * The result of `work`, or a rejection when it has not ended within `limit` ms. A later result is dropped.
 * @param error makes the rejection
 */
export function within<T>(
  limit: number,
  work: Promise<T>,
  error: () => Error = () => new Error(`no result within ${limit} ms`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(error()), limit);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
