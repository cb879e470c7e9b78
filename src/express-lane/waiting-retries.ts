import { withinShare } from '../fair-share.js';
import type { AttemptSlots } from './attempt-slots.js';

export interface WaitingRetriesOptions {
  slots: Pick<AttemptSlots<unknown>, 'tryAcquire' | 'onRelease'>;
  /** A retry that has waited so long, ms, has no slot. */
  patience: number;
  /**
   * Retries that wait at once: for one endpoint, and in all, of which a client has its fair share. Each holds an
   * activity's slot in the Temporal worker.
   */
  perEndpoint: number;
  total: number;
}

interface Waiter {
  endpointId: string;
  max: number | null;
  end: (acquired: boolean) => void;
}

interface Line {
  waiters: Set<Waiter>;
  /** Whether a waiter had the slot that this client released last. */
  served: boolean;
}

/**
 * Retries that wait a short time for an attempt slot. The first attempts of the same endpoint wait in the lane, and the
 * lane takes each slot at the moment of its release. A retry that only asked now and then would never find one while
 * more first attempts come than the endpoint has slots, although slots are released all the time. So each second slot that
 * a client releases is offered to its waiting retries first.
 */
export class WaitingRetries {
  readonly #lines = new Map<string, Line>();
  #waiting = 0;

  constructor(private readonly options: WaitingRetriesOptions) {
    options.slots.onRelease((clientId) => this.#released(clientId));
  }

  /**
   * Takes a slot, which the caller releases.
   * @param max the endpoint's own limit; null: the limit of the deployment
   * @returns false when no slot was free for it in time
   */
  async acquire(clientId: string, endpointId: string, max: number | null): Promise<boolean> {
    const { slots, patience } = this.options;
    if (slots.tryAcquire(clientId, endpointId, max)) return true;
    const line = this.#lines.get(clientId) ?? { waiters: new Set(), served: false };
    if (!this.#mayWait(line, endpointId)) return false;
    return new Promise((resolve) => {
      const end = (acquired: boolean) => {
        clearTimeout(timer);
        line.waiters.delete(waiter);
        this.#waiting--;
        if (line.waiters.size === 0) this.#lines.delete(clientId);
        resolve(acquired);
      };
      const timer = setTimeout(() => end(false), patience);
      const waiter: Waiter = { endpointId, max, end };
      line.waiters.add(waiter);
      this.#waiting++;
      this.#lines.set(clientId, line);
    });
  }

  #mayWait({ waiters }: Line, endpointId: string): boolean {
    const { perEndpoint, total } = this.options;
    const ofEndpoint = [...waiters].filter((waiter) => waiter.endpointId === endpointId).length;
    return ofEndpoint < perEndpoint && withinShare(waiters.size, 1, total - this.#waiting);
  }

  /** In the other turns the lane takes the slot first. Its listener runs before the microtask does. */
  #released(clientId: string | undefined): void {
    const line = this.#lines.get(clientId ?? '');
    if (!clientId || !line) return;
    if (!line.served) line.served = this.#offer(clientId, line);
    else {
      line.served = false;
      queueMicrotask(() => this.#offer(clientId, line));
    }
  }

  /** @returns whether a waiter has taken a slot */
  #offer(clientId: string, line: Line): boolean {
    for (const { endpointId, max, end } of line.waiters) {
      if (!this.options.slots.tryAcquire(clientId, endpointId, max)) continue;
      end(true);
      return true;
    }
    return false;
  }
}
