import { setTimeout as sleep } from 'node:timers/promises';

/** Shortest and longest rest after a batch, ms. */
export interface RestBounds {
  least: number;
  most: number;
}

const REST: RestBounds = { least: 20, most: 1_000 };

/** Runs `batch` until it returns false. A rest as long as the batch follows each, so that nobody waits long for it. */
export async function inBatches(batch: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const since = performance.now();
    if (!(await batch())) return;
    await restAfterBatch(since, REST);
  }
}

/** Rests as long as the batch that began at `since` (`performance.now()`) has taken, within the bounds. */
export function restAfterBatch(since: number, { least, most }: RestBounds): Promise<void> {
  return sleep(Math.min(most, Math.max(least, performance.now() - since)));
}
