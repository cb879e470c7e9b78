/** Warnings of one kind that are logged in a minute. An outage would otherwise log one for each request. */
const MOST = 10;
const MINUTE = 60_000;

/** Limits repeated warnings, and reports once a minute how many of each kind were left out. */
export class WarningLimit {
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly report: (leftOut: Readonly<Record<string, number>>) => void) {}

  admits(kind: string): boolean {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#timer ??= setTimeout(() => this.#endMinute(), MINUTE).unref();
    return count <= MOST;
  }

  #endMinute(): void {
    const leftOut = [...this.#counts].filter(([, count]) => count > MOST).map(([kind, count]) => [kind, count - MOST]);
    this.#counts.clear();
    this.#timer = undefined;
    if (leftOut.length > 0) this.report(Object.fromEntries(leftOut));
  }
}
