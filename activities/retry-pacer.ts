/**
 * Decides when an activity asks again that found no slot: at most `perSecond`
 * turns in all, shared equally by the clients that wait. With thousands of activities that wait for one slow receiver,
 * the delay grows with their number, and asking costs Temporal no more than with a hundred (the generic cell rate
 * algorithm, one cell a turn).
 */
export class RetryPacer {
  /** The time up to which a client's turns are taken, ms. */
  readonly #takenUntil = new Map<string, number>();

  constructor(private readonly perSecond: number) {}

  /** Takes the next turn of this client. @returns ms until that turn; 0 when no other activity of the client waits */
  next(clientId: string, now: number): number {
    for (const [id, until] of this.#takenUntil) if (until <= now) this.#takenUntil.delete(id);
    const turn = Math.max(now, this.#takenUntil.get(clientId) ?? 0);
    this.#takenUntil.set(clientId, turn);
    this.#takenUntil.set(clientId, turn + (1_000 / this.perSecond) * this.#takenUntil.size);
    return turn - now;
  }
}
