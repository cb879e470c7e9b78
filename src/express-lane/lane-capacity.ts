import { withinShare } from '../fair-share.js';
import type { AttemptSlots } from './attempt-slots.js';

/**
 * The sweep reads the table again when this share of the capacity is free: more than one client alone can leave free.
 */
const FREE_AGAIN = 3 / 4;
/**
 * A client that was refused is taken from the table again when it holds no more than this share of the free capacity.
 */
const CLIENT_BELOW = 1 / 2;

/** Bounds the first attempts that wait in the lane, so that a flood of one client leaves capacity for the others. */
export class LaneCapacity {
  /** Clients that were refused and still hold more than `CLIENT_BELOW`. */
  readonly #saturated = new Set<string>();
  #refused = false;

  constructor(
    private readonly slots: Pick<AttemptSlots<unknown>, 'waiting' | 'waitingOf'>,
    private readonly capacity: number,
  ) {}

  /** The number of first attempts that may still be added. */
  get free(): number {
    return Math.max(0, this.capacity - this.slots.waiting);
  }

  /** Whether so many more first attempts of this client may wait. */
  admits(clientId: string, attempts: number): boolean {
    if (withinShare(this.slots.waitingOf(clientId), attempts, this.free)) return true;
    this.#refused = true;
    this.#saturated.add(clientId);
    return false;
  }

  /** Clients over their share. The sweep takes none of their events: the leases would only end again. */
  get saturated(): string[] {
    for (const clientId of this.#saturated) {
      if (this.slots.waitingOf(clientId) <= this.free * CLIENT_BELOW) this.#saturated.delete(clientId);
    }
    return [...this.#saturated];
  }

  /** Whether capacity is free again after a refusal. True once for each recovery. */
  get hasRecovered(): boolean {
    if (!this.#refused || this.free <= this.capacity * FREE_AGAIN) return false;
    this.#refused = false;
    return true;
  }
}
