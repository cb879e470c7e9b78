export interface InFlightLimitOptions {
  /** A client's next start waits while so many of its attempts are in flight. */
  size: number;
  /** An attempt counts for no longer than this, ms. After it, another worker had the attempt, or it was never made. */
  forgottenAfter: number;
  /** Whether a slot is free for an attempt of this client. */
  hasSlot: (clientId: string) => boolean;
  /** A client without a free slot gets one start in this time, ms. */
  saturatedPause: number;
}

/**
 * Bounds the attempts of each client that are in flight in Temporal: those of started workflows, until an activity has
 * arrived for each. Because of the bound a mass failure waits here, where clients take turns, and not in Temporal,
 * where it would be ahead of every other client's next retry.
 */
export class InFlightLimit {
  /** The start times of each client's attempts in flight, the oldest first. */
  readonly #inFlight = new Map<string, number[]>();
  /** The last start of each client without a free slot. */
  readonly #saturated = new Map<string, number>();
  #listener: () => void = () => {};

  constructor(private readonly options: InFlightLimitOptions) {}

  /** The listener is called when an arrival makes capacity for a client. */
  onCapacity(listener: () => void): void {
    this.#listener = listener;
  }

  /**
   * Whether Temporal may have so many more attempts of this client now. Admitted attempts are counted. An event with
   * more attempts than the limit is admitted when none is in flight. An event without attempts is always admitted.
   */
  admit(clientId: string, attempts: number, now: number): boolean {
    if (attempts === 0) return true;
    const inFlight = this.#inFlight.get(clientId) ?? [];
    while (inFlight[0] !== undefined && now - inFlight[0] > this.options.forgottenAfter) inFlight.shift();
    if (inFlight.length === 0) this.#inFlight.delete(clientId);
    const fits = inFlight.length === 0 || inFlight.length + attempts <= this.options.size;
    if (!fits || this.#isSaturated(clientId, now)) return false;
    for (let i = 0; i < attempts; i++) inFlight.push(now);
    this.#inFlight.set(clientId, inFlight);
    return true;
  }

  #isSaturated(clientId: string, now: number): boolean {
    if (this.options.hasSlot(clientId)) {
      this.#saturated.delete(clientId);
      return false;
    }
    if (now - (this.#saturated.get(clientId) ?? Number.NEGATIVE_INFINITY) < this.options.saturatedPause) return true;
    this.#saturated.set(clientId, now);
    return false;
  }

  /** An activity of this client has arrived: its attempt is no longer in flight. */
  arrived(clientId: string): void {
    const inFlight = this.#inFlight.get(clientId);
    if (!inFlight) return;
    inFlight.shift();
    if (inFlight.length === 0) this.#inFlight.delete(clientId);
    if (inFlight.length < this.options.size) this.#listener();
  }
}

/** Bounds of one worker process. Temporal's dev server runs about fifty attempts a second. */
export const IN_FLIGHT_BOUNDS = { size: 10, forgottenAfter: 10_000, saturatedPause: 2_000 };
