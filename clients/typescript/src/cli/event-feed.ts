import type { TransferServiceClient } from '../client.js';
import type { DeliveredEvent } from '../types.js';

const PAGE = 100;

/**
 * Reads new events from now on, in the order of the feed. Times are the service's, so a wrong clock here does no harm.
 */
export class EventFeed {
  readonly #client: TransferServiceClient;
  readonly #signal: AbortSignal;
  #after: { created_after?: string; cursor?: string } = {};

  constructor(client: TransferServiceClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Begins after the newest event. */
  async begin(): Promise<void> {
    const { data } = await this.#client.events.list({ limit: 1 }, { signal: this.#signal }).page();
    const [newest] = data;
    // `created_at` is UTC although it has no zone.
    if (newest) this.#after = { created_after: `${newest.created_at}Z` };
  }

  /** The next events, oldest first, at most a page. If the page fails, the next call reads it again. */
  async next(): Promise<DeliveredEvent[]> {
    const list = this.#client.events.list({ order: 'oldest', limit: PAGE, ...this.#after }, { signal: this.#signal });
    const { data, next_cursor } = await list.page();
    if (next_cursor !== null) this.#after = { cursor: next_cursor };
    return data.map(({ deliveries: _, ...event }) => event);
  }
}
