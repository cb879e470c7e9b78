import type { Cursor } from './lease.js';

/**
 * Where a scan of the queue is. A scan looks at a few hundred lines in each statement.
 *
 * - `idle`: nothing is to be scanned.
 * - `step`: the poll of each second looks at the next lines, and continues while it finds attempts to lease. Lines
 *   without a slot in this process thus cost one statement a second, however many there are.
 * - `pass`: all lines are looked at once, after an event that may have queued attempts at any endpoint.
 *
 * A statement that leased as many as it could looks at its lines again. A pass that is requested during a pass follows it.
 */
export class Scan {
  #state: 'idle' | 'step' | 'pass' = 'idle';
  #cursor: Cursor | null = null;
  #begun = false;
  #again = false;

  get isDue(): boolean {
    return this.#state !== 'idle';
  }

  requestStep(): void {
    if (this.#state === 'idle') this.#state = 'step';
  }

  requestPass(): void {
    if (this.#begun) this.#again = true;
    else this.#beginPass();
  }

  /** Begins a statement. @returns the line after which it looks */
  begin(): Cursor | null {
    this.#begun = true;
    return this.#cursor;
  }

  /**
   * Ends a statement.
   * @param found.next the last line that it looked at; null: no line follows
   * @param found.isFull it leased as many as it could, and its lines may have more
   */
  end({ next, leased, isFull }: { next: Cursor | null; leased: number; isFull: boolean }): void {
    if (!isFull) {
      this.#cursor = next;
      if (next === null || (this.#state === 'step' && leased === 0)) this.#state = 'idle';
    }
    if (this.#state === 'pass') return;
    this.#begun = false;
    if (this.#again) this.#beginPass();
  }

  #beginPass(): void {
    this.#state = 'pass';
    this.#cursor = null;
    this.#begun = false;
    this.#again = false;
  }
}
