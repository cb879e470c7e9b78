import type { FairQueue } from './attempt-slots.js';

/** The share of the capacity that must be free before the table is looked into again: more than one client can leave free. */
const ROOM_AGAIN = 3 / 4;
/** The share of the room that a client who found none must come down to before more of theirs is taken. */
const CLIENT_ROOM_AGAIN = 1 / 2;

/** Who may still wait in the lane, so that a flood of one client leaves room for the others. */
export class LaneRoom {
  readonly #crowded = new Set<string>();
  #refused = false;

  constructor(
    private readonly places: Pick<FairQueue<unknown>, 'waiting' | 'waitingOf'>,
    private readonly capacity: number,
  ) {}

  /** How many more first attempts may wait. */
  get left(): number {
    return Math.max(0, this.capacity - this.places.waiting);
  }

  /** Whether so many more of this client may wait: no client has more waiting than there is room left. */
  admits(clientId: string, attempts: number): boolean {
    if (this.places.waitingOf(clientId) + attempts <= this.left) return true;
    this.#refused = true;
    this.#crowded.add(clientId);
    return false;
  }

  /** Clients of whom so much waits that nothing is to be taken from the table for them: claims would only be given back. */
  get crowded(): string[] {
    for (const clientId of this.#crowded) {
      if (this.places.waitingOf(clientId) <= this.left * CLIENT_ROOM_AGAIN) this.#crowded.delete(clientId);
    }
    return [...this.#crowded];
  }

  /** Whether there is room again after somebody found none; true once. */
  get isBack(): boolean {
    if (!this.#refused || this.left <= this.capacity * ROOM_AGAIN) return false;
    this.#refused = false;
    return true;
  }
}
