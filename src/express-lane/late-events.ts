import type { AttemptPlan } from '../webhooks/record.js';
import type { SendOutcome } from '../webhooks/sender/send.js';
import type { LaneEvent } from './lane-event.js';

/**
 * A retry that is due waits this long for the other first attempts of its event, ms. Most receivers respond sooner; then
 * no attempt needs a claim of its own.
 */
const LATE_AFTER = 500;
/** A first attempt takes up to 16 s. A retry that is due later than this is hardly late because of it, ms. */
const SOON = 5_000;

/** Whether the delivery has failed with a retry that other first attempts of its event could delay. */
export function isRetriedSoon({ nextDelay }: Pick<AttemptPlan, 'nextDelay'>, outcome: SendOutcome): boolean {
  return outcome.error !== null && outcome.responseStatus !== 410 && nextDelay !== null && nextDelay <= SOON;
}

/** The events with a retry that is due soon while first attempts are open. */
export class LateEvents {
  /** By `performance.now()` of their first failure. */
  readonly #since = new Map<LaneEvent, number>();

  /** A first attempt of the event has failed and is retried soon. */
  watch(event: LaneEvent, now: number): void {
    if (event.isOpen && !this.#since.has(event)) this.#since.set(event, now);
  }

  /** Removes and returns the events whose retry is late, and whose open attempts are all under way. */
  take(now: number): LaneEvent[] {
    const late: LaneEvent[] = [];
    for (const [event, since] of this.#since) {
      const isLate = since <= now - LATE_AFTER && event.isAllUnderWay;
      if (isLate) late.push(event);
      if (isLate || !event.isOpen) this.#since.delete(event);
    }
    return late;
  }
}
