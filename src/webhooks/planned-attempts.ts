import type { Delivery } from '../database/generated/client.js';
import { delayAfter, ladderFromText } from '../ladder.js';

/** An attempt that is left of a delivery's ladder. */
export interface PlannedAttempt {
  number: number;
  at: Date;
}

/**
 * The attempts that are left if each fails at once, by the ladder that the delivery started with: the attempts that its
 * workflow makes. The first is at `nextAttemptAt`. A retry by hand uses up the rung that it wakes, because it is the
 * next attempt by number. None is left once the delivery has ended.
 * @param retryDelays the present ladder, ms, for a delivery whose row does not name its own
 */
export function plannedAttempts(
  delivery: Pick<Delivery, 'status' | 'attemptCount' | 'ladderStart' | 'ladder' | 'nextAttemptAt'>,
  retryDelays: readonly number[],
): PlannedAttempt[] {
  const { status, attemptCount, ladderStart, nextAttemptAt } = delivery;
  if (status !== 'pending' || nextAttemptAt === null) return [];
  const ladder = ladderFromText(delivery.ladder) ?? retryDelays;
  const planned: PlannedAttempt[] = [];
  let at = nextAttemptAt.getTime();
  for (let number = attemptCount + 1; ; number++) {
    planned.push({ number, at: new Date(at) });
    const delay = delayAfter(ladder, number - ladderStart);
    if (delay === null) return planned;
    at += delay;
  }
}
