export interface InFlightLimitOptions {
  /** At so many attempts of a client in Temporal its next start waits. */
  size: number;
  /** After so long one no longer counts, ms: another worker had it, or it came to nothing. */
  forgotten: number;
  /** Whether an attempt of this client would find a place. */
  hasSlot: (clientId: string) => boolean;
  /** How long its next start waits where it would not, ms. */
  saturated: number;
}

/**
 * How many attempts of one client wait in Temporal: those of workflows that were started, until an activity has come for
 * each. Only so many at once, and few where they would find no place, so that a mass failure waits here, where clients
 * have turns, and not in Temporal, where it would be ahead of everybody's next retry.
 */
export class InFlightLimit {
  /** When each was started, the oldest first. */
  readonly #waiting = new Map<string, number[]>();

  /** When a client without a place was let through. */
  readonly #crowded = new Map<string, number>();

  constructor(private readonly options: InFlightLimitOptions) {}

  /** One that brings more than there is room for goes when none waits. */
  admits(clientId: string, attempts: number, now: number): boolean {
    const waiting = this.#waiting.get(clientId) ?? [];
    while (waiting[0] !== undefined && now - waiting[0] > this.options.forgotten) waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(clientId);
    const fits = waiting.length === 0 || waiting.length + attempts <= this.options.size;
    return fits && !this.#isCrowded(clientId, now);
  }

  #isCrowded(clientId: string, now: number): boolean {
    if (this.options.hasSlot(clientId)) {
      this.#crowded.delete(clientId);
      return false;
    }
    if (now - (this.#crowded.get(clientId) ?? Number.NEGATIVE_INFINITY) < this.options.saturated) return true;
    this.#crowded.set(clientId, now);
    return false;
  }

  started(clientId: string, attempts: number, now: number): void {
    if (attempts === 0) return;
    const waiting = this.#waiting.get(clientId) ?? [];
    for (let i = 0; i < attempts; i++) waiting.push(now);
    this.#waiting.set(clientId, waiting);
  }

  /** One has come. Whether that makes room. */
  arrived(clientId: string): boolean {
    const waiting = this.#waiting.get(clientId);
    if (!waiting) return false;
    waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(clientId);
    return waiting.length < this.options.size;
  }
}
