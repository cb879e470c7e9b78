/** A statement has at most this many names. From the last one on it has run 4,096 times. */
const MOST_NAMES = 13;
/** Statements with a name, at most. The service has some 120, which are constants. */
const MOST_STATEMENTS = 500;

/**
 * Names of prepared statements. Each connection parses a named statement once, and Postgres keeps its plan from the
 * sixth run on (unless a plan for the values would be cheaper).
 *
 * Such a plan lasts until the statistics of its tables change. If a table is small when Postgres makes the plan, the
 * plan scans the table, also when a burst has filled the table since. So a statement gets a further name, and with it
 * a new plan, whenever the number of its runs has doubled, up to 4,096 runs.
 */
export class StatementNames {
  readonly #statements = new Map<string, { id: number; runs: number }>();

  /** Makes a statement known, so that its runs have a name. */
  add(text: string): void {
    if (this.#statements.has(text) || this.#statements.size >= MOST_STATEMENTS) return;
    this.#statements.set(text, { id: this.#statements.size, runs: 0 });
  }

  /**
   * The name for the next run. A statement that was not added has the empty name: Postgres parses and plans each run.
   */
  next(text: string): string {
    const statement = this.#statements.get(text);
    if (!statement) return '';
    statement.runs = Math.min(statement.runs + 1, 2 ** (MOST_NAMES - 1));
    return `s${statement.id}_${31 - Math.clz32(statement.runs)}`;
  }
}
