import type { TransferServiceClient } from '../client.js';
import type { DeliveredEvent, Event } from '../types.js';

/** An event may become visible this much later than a newer one, because its transaction took longer. ms */
const OVERLAP = 60_000;
/** How often the whole overlap is read; otherwise a page of known events ends the reading. ms */
const DEEP_EVERY = 15_000;
const PAGE = 100;

/** Reads new events from now on. Times are the service's, so a wrong clock here does no harm. */
export class EventFeed {
  readonly #client: TransferServiceClient;
  readonly #signal: AbortSignal;
  /** The ids of the known events with their times, ms since 1970. */
  readonly #seen = new Map<string, number>();
  #newest: number | undefined;
  #deepAt = 0;

  constructor(client: TransferServiceClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Notes the present events, which are not reported. */
  async begin(): Promise<void> {
    const { data } = await this.#client.events.list({ limit: 1 }, { signal: this.#signal }).page();
    const [event] = data;
    if (!event) return;
    this.#newest = madeAt(event);
    await this.next();
  }

  /** The events that were not known yet, oldest first. If a page fails, they are still unknown. */
  async next(): Promise<DeliveredEvent[]> {
    const isDeep = performance.now() >= this.#deepAt;
    const fresh = new Map<string, Event>();
    const after = this.#newest === undefined ? {} : { created_after: new Date(this.#newest - OVERLAP).toISOString() };
    const list = this.#client.events.list({ ...after, limit: PAGE }, { signal: this.#signal });
    for await (const { data } of list.pages()) {
      const unknown = data.filter(({ id }) => !this.#seen.has(id));
      for (const event of unknown) fresh.set(event.id, event);
      if (unknown.length === 0 && !isDeep) break;
    }
    if (isDeep) this.#deepAt = performance.now() + DEEP_EVERY;
    for (const event of fresh.values()) this.#seen.set(event.id, madeAt(event));
    this.#forget();
    return [...fresh.values()].reverse().map(({ deliveries: _, ...event }) => event);
  }

  #forget(): void {
    for (const time of this.#seen.values()) this.#newest = Math.max(this.#newest ?? time, time);
    if (this.#newest === undefined) return;
    for (const [id, time] of this.#seen) if (time < this.#newest - 2 * OVERLAP) this.#seen.delete(id);
  }
}

/** `created_at` is UTC although it has no zone. */
function madeAt({ created_at }: Event): number {
  return Date.parse(`${created_at}Z`);
}
