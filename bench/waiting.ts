import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until nothing is left.
 * @returns what is left where it has not become less for `patience` ms; 0: all is done
 */
export async function untilNone(
  left: () => Promise<number>,
  { every, patience }: { every: number; patience: number },
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let since = performance.now(); ; await sleep(every)) {
    const now = await left();
    if (now <= 0) return 0;
    if (now < least) {
      least = now;
      since = performance.now();
    } else if (performance.now() - since > patience) return now;
  }
}
