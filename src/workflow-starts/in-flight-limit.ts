export interface InFlightLimitOptions {
  /** A client's next start waits while so many of its attempts are in flight. */
  size: number;
  /** An attempt counts for no longer than this, ms: another worker had it, or it was never made. */
  forgottenAfter: number;
  /** Whether an attempt of this client would find a slot. */
  hasSlot: (clientId: string) => boolean;
  /** A client without a slot gets one start in so long, ms. */
  saturatedPause: number;
}

/**
 * How many attempts of one client are in flight in Temporal: those of workflows that were started, until an activity has
 * arrived for each. The bound keeps a mass failure waiting here, where clients take turns, and not in Temporal, where it
 * would stand ahead of every other client's next retry.
 */
export class InFlightLimit {
  /** When each attempt in flight was started, the oldest first. */
  readonly #inFlight = new Map<string, number[]>();
  /** When a client without a slot last had a start. */
  readonly #saturated = new Map<string, number>();
  #listener: () => void = () => {};

  constructor(private readonly options: InFlightLimitOptions) {}

  /** The listener is called when an arrival makes capacity for a client. */
  onCapacity(listener: () => void): void {
    this.#listener = listener;
  }

  /**
   * Whether Temporal may have so many more attempts of this client now; a yes counts them. An event with more attempts
   * than the limit is admitted when none is in flight, and one without attempts always.
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

  /** An activity of this client has arrived: its attempt is in flight no more. */
  arrived(clientId: string): void {
    const inFlight = this.#inFlight.get(clientId);
    if (!inFlight) return;
    inFlight.shift();
    if (inFlight.length === 0) this.#inFlight.delete(clientId);
    if (inFlight.length < this.options.size) this.#listener();
  }
}

/** Bounds of one worker process: the dev server makes some fifty attempts a second. */
export const IN_FLIGHT_BOUNDS = { size: 10, forgottenAfter: 10_000, saturatedPause: 2_000 };
