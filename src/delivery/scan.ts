import type { Cursor } from './lease.js';

/**
 * Where a scan of the queue is. A scan finds the lines with free attempts, a few hundred in each statement.
 *
 * - `idle`: nothing is to be scanned.
 * - `step`: one statement looks at the next lines. The workers take turns, with a step a second, and tell each other
 *   where the next one continues.
 * - `pass`: all lines are looked at once, after this worker may have missed notifications or has more slots.
 *
 * A pass that is requested during a statement or a pass follows it.
 */
export class Scan {
  #state: 'idle' | 'step' | 'pass' = 'idle';
  /** Where the next statement of a pass, and the next step, continue. */
  #cursor: Cursor | null = null;
  #step: Cursor | null = null;
  #begun = false;
  #again = false;

  get isDue(): boolean {
    return this.#state !== 'idle';
  }

  requestStep(): void {
    if (this.#state === 'idle') this.#state = 'step';
  }

  /** Another worker has made a step. @param cursor the last line that it looked at; null: no line followed */
  continueAfter(cursor: Cursor | null): void {
    if (this.#state !== 'step' || !this.#begun) this.#step = cursor;
  }

  requestPass(): void {
    if (this.#begun) this.#again = true;
    else this.#beginPass();
  }

  /** Begins a statement. @returns the line after which it looks */
  begin(): Cursor | null {
    this.#begun = true;
    return this.#state === 'step' ? this.#step : this.#cursor;
  }

  /**
   * Ends a statement.
   * @param next the last line that it looked at; null: no line follows
   * @returns whether it was a step
   */
  end(next: Cursor | null): boolean {
    const isStep = this.#state === 'step';
    if (isStep) this.#step = next;
    else this.#cursor = next;
    if (!isStep && next !== null) return false;
    this.#state = 'idle';
    this.#begun = false;
    if (this.#again) this.#beginPass();
    return isStep;
  }

  #beginPass(): void {
    this.#state = 'pass';
    this.#cursor = null;
    this.#again = false;
  }
}
