/** The terminal that something is shown on. */
export interface Screen {
  /** In columns. */
  width: number;
  now: Date;
}

/** Undefined where standard output is no terminal. */
export function screenHere(): Screen | undefined {
  // A terminal that does not know its size says 0.
  return process.stdout.isTTY ? { width: process.stdout.columns || 80, now: new Date() } : undefined;
}
