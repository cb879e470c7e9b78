import type { DueEvent } from '../outbox/due-event.js';

/**
 * Starts that wait in memory, served in turn across clients. None has more waiting than there is room left, so that a
 * mass failure of one neither delays the others' first retries nor keeps them out.
 */
export class StartQueue {
  readonly #lines = new Map<string, DueEvent[]>();
  #size = 0;

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.#size;
  }

  /** The clients of whom so many wait. */
  saturated(many: number): string[] {
    return [...this.#lines].filter(([, line]) => line.length >= many).map(([clientId]) => clientId);
  }

  /** False where there is no room for it. */
  push(event: DueEvent): boolean {
    const line = this.#lines.get(event.clientId) ?? [];
    if (line.length >= this.capacity - this.#size) return false;
    line.push(event);
    this.#lines.set(event.clientId, line);
    this.#size++;
    return true;
  }

  /**
   * Up to `limit` of them, of those clients whose next `mayGo` lets go: one of each in turn, and who was served last comes
   * last next time.
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
