/** The terminal that shows the output. */
export interface Screen {
  /** In columns. */
  width: number;
  now: Date;
}

/** Undefined if standard output is not a terminal. */
export function screenHere(): Screen | undefined {
  // A terminal of unknown size reports 0 columns.
  return process.stdout.isTTY ? { width: process.stdout.columns || 80, now: new Date() } : undefined;
}
