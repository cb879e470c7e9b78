import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A signal that repeats within this time is the same signal, ms: at Ctrl-C the terminal signals both npm and the process
 * that npm runs, and npm forwards its signal to the process.
 */
const REPEATS = 1_000;

/** Resolves at Ctrl-C or SIGTERM. Repeats of the signal are ignored; a later one ends the process at once. */
export function untilSignalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // The listener stays on, because without one a repeat ends the process.
      const listener = () => {
        setTimeout(() => process.off(signal, listener), REPEATS).unref();
        resolve();
      };
      process.on(signal, listener);
    }
  });
}

/** Resolves at the signal after the one that has just arrived, which may repeat. */
export async function untilSignalledAgain(): Promise<void> {
  await sleep(REPEATS, undefined, { ref: false });
  await untilSignalled();
}

/** The last lines of the log may take this long, ms. */
const LAST_LINES = 1_000;

/** Ends the process also where nobody reads the rest of its log. Call it when the work is done. */
export function endDespiteStalledLog(): void {
  setTimeout(() => process.exit(), LAST_LINES).unref();
}
