import { withinShare } from '../fair-share.js';
import type { DueEvent } from '../outbox/due-event.js';

/**
 * Due events that wait in memory, served in turn across clients. Each client keeps within its share of the capacity, so
 * that a mass failure of one client neither delays the other clients' first retries nor keeps them out.
 */
export class StartQueue {
  readonly #lines = new Map<string, DueEvent[]>();
  #size = 0;

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.#size;
  }

  /** Clients with at least `many` events here. */
  saturated(many: number): string[] {
    return [...this.#lines].filter(([, line]) => line.length >= many).map(([clientId]) => clientId);
  }

  /** @returns false when there is no capacity for the event */
  push(event: DueEvent): boolean {
    const line = this.#lines.get(event.clientId) ?? [];
    if (!withinShare(line.length, 1, this.capacity - this.#size)) return false;
    line.push(event);
    this.#lines.set(event.clientId, line);
    this.#size++;
    return true;
  }

  /**
   * Takes up to `limit` events, one of each client in turn. It passes over a client whose next event `mayGo` refuses.
   * The client served last is the last in turn at the next call.
   */
  take(limit: number, mayGo: (event: DueEvent) => boolean): DueEvent[] {
    const taken: DueEvent[] = [];
    for (let refused = 0; taken.length < limit && refused < this.#lines.size; ) {
      const [first] = this.#lines;
      const [event] = first?.[1] ?? [];
      if (!first || !event) break;
      const [clientId, line] = first;
      this.#lines.delete(clientId);
      if (mayGo(event)) {
        refused = 0;
        line.shift();
        taken.push(event);
      } else {
        refused++;
      }
      if (line.length > 0) this.#lines.set(clientId, line);
    }
    this.#size -= taken.length;
    return taken;
  }
}
