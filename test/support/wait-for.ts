import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls `condition` until it returns a value: every 20 ms, and more rarely the longer it takes, since each poll may be
 * a request. After `timeout` ms it throws an error that names `what`.
 */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  timeout = 90_000,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false && value !== null) return value;
    const waited = Date.now() - began;
    if (waited > timeout) throw new Error(`timeout after ${timeout} ms, waiting for: ${what}`);
    await sleep(Math.min(100, Math.max(20, waited / 50)));
  }
}
