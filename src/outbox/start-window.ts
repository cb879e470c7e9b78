/**
 * How many attempts of one client wait in Temporal: those of workflows that were started, until an activity has come for
 * each. Only so many at once, so that a mass failure waits here, where clients have turns, and not in Temporal, where it
 * would be ahead of everybody's next retry.
 */
export class StartWindow {
  readonly #clients = new Map<string, { waiting: number; movedAt: number }>();

  /** @param stalled after so long with no activity the count is forgotten, ms: another worker may have had them */
  constructor(
    private readonly size: number,
    private readonly stalled: number,
  ) {}

  hasRoom(clientId: string, now: number): boolean {
    const client = this.#clients.get(clientId);
    return !client || client.waiting < this.size || now - client.movedAt > this.stalled;
  }

  started(clientId: string, attempts: number, now: number): void {
    if (attempts === 0) return;
    const known = this.#clients.get(clientId);
    const client = known && now - known.movedAt <= this.stalled ? known : { waiting: 0, movedAt: now };
    client.waiting += attempts;
    this.#clients.set(clientId, client);
  }

  /** So many have come. Whether that makes room. */
  came(clientId: string, attempts: number, now: number): boolean {
    const client = this.#clients.get(clientId);
    if (!client) return false;
    const wasFull = client.waiting >= this.size;
    client.waiting -= attempts;
    client.movedAt = now;
    if (client.waiting <= 0) this.#clients.delete(clientId);
    return wasFull && client.waiting < this.size;
  }
}
