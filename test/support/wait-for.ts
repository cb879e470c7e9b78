import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` gives something, asking again and again; fails by name after `timeout` ms. */
export async function waitFor<T>(
  what: string,
  condition: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  timeout = 90_000,
): Promise<T> {
  const deadline = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false && value !== null) return value;
    if (Date.now() > deadline) throw new Error(`waited ${timeout} ms in vain for: ${what}`);
    await sleep(20);
  }
}
