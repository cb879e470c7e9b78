import type { AttemptSlots } from './attempt-slots.js';

/** The share of the capacity that must be free before the table is looked into again: more than one client can leave free. */
const ROOM_AGAIN = 3 / 4;
/** The share of the room that a client who found none must come down to before more of theirs is taken. */
const CLIENT_ROOM_AGAIN = 1 / 2;

/** Who may still wait in the lane, so that a flood of one client leaves room for the others. */
export class LaneCapacity {
  readonly #crowded = new Set<string>();
  #refused = false;

  constructor(
    private readonly slots: Pick<AttemptSlots<unknown>, 'waiting' | 'waitingOf'>,
    private readonly capacity: number,
  ) {}

  /** How many more first attempts may wait. */
  get free(): number {
    return Math.max(0, this.capacity - this.slots.waiting);
  }

  /** Whether so many more of this client may wait: no client has more waiting than there is room left. */
  admits(clientId: string, attempts: number): boolean {
    if (this.slots.waitingOf(clientId) + attempts <= this.free) return true;
    this.#refused = true;
    this.#crowded.add(clientId);
    return false;
  }

  /** Clients of whom so much waits that nothing is to be taken from the table for them: claims would only be given back. */
  get saturated(): string[] {
    for (const clientId of this.#crowded) {
      if (this.slots.waitingOf(clientId) <= this.free * CLIENT_ROOM_AGAIN) this.#crowded.delete(clientId);
    }
    return [...this.#crowded];
  }

  /** Whether there is room again after somebody found none; true once. */
  get hasRecovered(): boolean {
    if (!this.#refused || this.free <= this.capacity * ROOM_AGAIN) return false;
    this.#refused = false;
    return true;
  }
}
