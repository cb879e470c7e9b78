import { setTimeout as sleep } from 'node:timers/promises';

/** Shortest and longest rest after a batch, ms. */
const REST = { least: 20, most: 1_000 };

/** Runs `batch` until it returns false. A rest as long as the batch follows each, so that nobody waits long for it. */
export async function inBatches(batch: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const since = performance.now();
    if (!(await batch())) return;
    await sleep(Math.min(REST.most, Math.max(REST.least, performance.now() - since)));
  }
}
