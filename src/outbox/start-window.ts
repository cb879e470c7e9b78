/**
 * How many attempts of one client wait in Temporal: those of workflows that were started, until an activity has come for
 * each. Only so many at once, so that a mass failure waits here, where clients have turns, and not in Temporal, where it
 * would be ahead of everybody's next retry.
 */
export class StartWindow {
  /** When each was started, the oldest first. */
  readonly #waiting = new Map<string, number[]>();

  /** @param forgotten after so long one no longer counts, ms: another worker had it, or it came to nothing */
  constructor(
    private readonly size: number,
    private readonly forgotten: number,
  ) {}

  hasRoom(clientId: string, now: number): boolean {
    const waiting = this.#waiting.get(clientId);
    if (!waiting) return true;
    while (waiting[0] !== undefined && now - waiting[0] > this.forgotten) waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(clientId);
    return waiting.length < this.size;
  }

  started(clientId: string, attempts: number, now: number): void {
    if (attempts === 0) return;
    const waiting = this.#waiting.get(clientId) ?? [];
    for (let i = 0; i < attempts; i++) waiting.push(now);
    this.#waiting.set(clientId, waiting);
  }

  /** One has come. Whether that makes room. */
  came(clientId: string): boolean {
    const waiting = this.#waiting.get(clientId);
    if (!waiting) return false;
    waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(clientId);
    return waiting.length === this.size - 1;
  }
}
