/** The reason of an abort by {@link withTimeLimit}. */
export const TIME_IS_UP = Symbol('time is up');

/**
 * Runs `work` with a signal that aborts after `ms` or with `outer`. Unlike `AbortSignal.any`, it leaves nothing behind
 * on a signal that lives for long.
 * @throws the outer signal's reason if that signal aborted
 */
export async function withTimeLimit<Result>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  const timer = setTimeout(() => controller.abort(TIME_IS_UP), Math.max(0, ms));
  outer?.addEventListener('abort', abort, { once: true });
  // A `fetch` that ignores its signal must not hold the caller.
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } catch (error) {
    outer?.throwIfAborted();
    throw controller.signal.reason === TIME_IS_UP ? TIME_IS_UP : error;
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** @throws the reason of `signal` */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await withTimeLimit(ms, signal, () => new Promise<never>(() => {})).catch((reason: unknown) => {
    if (reason !== TIME_IS_UP) throw reason;
  });
}
