import type { LaneEvent } from './lane-event.js';

/**
 * A failed delivery waits this long for the other first attempts of its event, ms. Most receivers respond sooner; then
 * nothing needs a claim of its own.
 */
const PATIENCE = 500;

/** The events with a failed first attempt while others are open, to find those whose first retry is late. */
export class LateEvents {
  readonly #events = new Set<LaneEvent>();

  /** A first attempt of the event has failed. */
  watch(event: LaneEvent): void {
    if (event.isOpen) this.#events.add(event);
  }

  /** Removes and returns the events whose workflow must not wait for the attempts that are still under way. */
  take(now: number): LaneEvent[] {
    const late: LaneEvent[] = [];
    for (const event of this.#events) {
      const isLate = event.isLate(now - PATIENCE);
      if (isLate) late.push(event);
      if (isLate || !event.isOpen) this.#events.delete(event);
    }
    return late;
  }
}
