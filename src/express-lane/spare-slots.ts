import type { SpareSlot } from './live-workers.js';

/** After a slot was given to a worker that waits, this worker asks for none of the endpoint for this long, ms. */
const GIVE_WAY = 1_000;

export interface SpareSlotOwner {
  clientId: string;
  endpointId: string;
  /** The endpoint's limit over all workers. */
  max: number;
}

interface Held extends SpareSlotOwner {
  usable: number[];
  /** Slots that are given back as soon as no attempt uses them. */
  giving: number[];
}

/** What decides whether a spare slot is kept. */
export interface SlotNeed {
  /** The number of spare slots of the endpoint, over all workers. */
  spare: number;
  /** The equal share of this worker. */
  share: number;
  active: number;
  waiting: number;
}

/** The spare slots that this worker holds, and those that it gives back. Plain data, no timers. */
export class SpareSlots {
  readonly #held = new Map<string, Held>();
  /** When a contested slot of the endpoint was given, ms. */
  readonly #givenAt = new Map<string, number>();

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /** The slots of the endpoint that attempts may use. */
  usable(endpointId: string): number {
    return this.#held.get(endpointId)?.usable.length ?? 0;
  }

  /** Whether another worker has the first chance at the endpoint's spare slots now. */
  givesWay(endpointId: string, now = performance.now()): boolean {
    const givenAt = this.#givenAt.get(endpointId);
    if (givenAt !== undefined && now - givenAt >= GIVE_WAY) this.#givenAt.delete(endpointId);
    return this.#givenAt.has(endpointId);
  }

  add(owner: SpareSlotOwner, slot: number): void {
    const held = this.#held.get(owner.endpointId) ?? { ...owner, usable: [], giving: [] };
    held.usable.push(slot);
    this.#held.set(owner.endpointId, held);
  }

  /**
   * Compares with the rows that a heartbeat has renewed. A slot without a row is lost. A slot that the endpoint does not
   * need, or has no more, or that another worker waits for, is given back.
   * @returns the slots to give back now
   */
  renew(
    rows: readonly SpareSlot[],
    needOf: (owner: SpareSlotOwner) => SlotNeed,
    now = performance.now(),
  ): Pick<SpareSlot, 'endpointId' | 'slot'>[] {
    // A slot whose taking was not answered has a row, and is unknown here.
    const given: Pick<SpareSlot, 'endpointId' | 'slot'>[] = rows.filter(({ endpointId, slot }) => {
      const held = this.#held.get(endpointId);
      return !held?.usable.includes(slot) && !held?.giving.includes(slot);
    });
    for (const held of [...this.#held.values()]) {
      const own = rows.filter(({ endpointId }) => endpointId === held.endpointId);
      const { spare, share, active, waiting } = needOf(held);
      const usable: number[] = [];
      const giving = held.giving.filter((slot) => own.some((row) => row.slot === slot));
      for (const { slot, contested } of own.filter((row) => held.usable.includes(row.slot))) {
        const needed = waiting > 0 || active > share + usable.length;
        const keeps = slot <= spare && needed && !contested;
        (keeps ? usable : giving).push(slot);
        if (contested) this.#givenAt.set(held.endpointId, now);
      }
      Object.assign(held, { usable, giving });
      if (active <= share + usable.length) given.push(...this.takeGiven(held.endpointId));
    }
    return given;
  }

  /** The slots of the endpoint to give back, once no attempt uses them. They are not held from now on. */
  takeGiven(endpointId: string): Pick<SpareSlot, 'endpointId' | 'slot'>[] {
    const held = this.#held.get(endpointId);
    if (!held) return [];
    const given = held.giving.splice(0).map((slot) => ({ endpointId, slot }));
    if (held.usable.length === 0) this.#held.delete(endpointId);
    return given;
  }
}
