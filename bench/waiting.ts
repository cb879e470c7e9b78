import { setTimeout as sleep } from 'node:timers/promises';

/** The question itself takes no more than such a part of the time. */
const RARELY = 50;

/**
 * Waits until nothing is left.
 * @returns what is left where it has not become less for `patience` ms; 0: all is done
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
    // To count a hundred thousand rows ten times a second would be a load of its own.
    await sleep(Math.max(every, RARELY * took));
  }
}
