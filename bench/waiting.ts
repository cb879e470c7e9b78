import { setTimeout as sleep } from 'node:timers/promises';

/** Largest share of the time that polling may take. */
const RARELY = 50;

/**
 * Waits until nothing is left.
 * @returns 0 when nothing is left, or the number that has not shrunk for `patience` ms
 */
export async function untilNone(
  left: () => Promise<number>,
  { every, patience }: { every: number; patience: number },
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let since = performance.now(); ; ) {
    const asked = performance.now();
    const now = await left();
    const took = performance.now() - asked;
    if (now <= 0) return 0;
    if (now < least) {
      least = now;
      since = performance.now();
    } else if (performance.now() - since > patience) return now;
    // Counting a hundred thousand rows ten times per second would itself be a load.
    await sleep(Math.max(every, RARELY * took));
  }
}
