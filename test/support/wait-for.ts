import { setTimeout as sleep } from 'node:timers/promises';

/** Polls `condition` until it returns a value. After `timeout` ms it throws an error that names `what`. */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  timeout = 90_000,
): Promise<T> {
  const deadline = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false && value !== null) return value;
    if (Date.now() > deadline) throw new Error(`timeout after ${timeout} ms, waiting for: ${what}`);
    await sleep(20);
  }
}
