/**
 * When those who found no place come again: at no more than `perSecond` in all, each client at its share of that. With
 * thousands who wait for one slow receiver the way back grows with their number, and asking costs Temporal no more than
 * with a hundred (the generic cell rate algorithm, one cell each).
 */
export class RetryPacer {
  /** Until when a client's turns are given out, ms. */
  readonly #givenOut = new Map<string, number>();

  constructor(private readonly perSecond: number) {}

  /** How long to wait for the next turn of this client; 0 where there is no crowd. */
  next(clientId: string, now: number): number {
    for (const [id, until] of this.#givenOut) if (until <= now) this.#givenOut.delete(id);
    const turn = Math.max(now, this.#givenOut.get(clientId) ?? 0);
    this.#givenOut.set(clientId, turn);
    this.#givenOut.set(clientId, turn + (1_000 / this.perSecond) * this.#givenOut.size);
    return turn - now;
  }
}
