import { setTimeout as sleep } from 'node:timers/promises';
import { endSignals } from '../../clients/typescript/src/cli/end-signals.js';
import { ConfigError } from '../platform/config/config-error.js';

/**
 * Reports to a starting script that the process serves.
 * @param url of the API, or of a worker's health; null: no port
 */
export type Announce = (url: string | null) => void;

/** `ready <url>`, on standard output. */
export const announceReady: Announce = (url) => console.log(url === null ? 'ready' : `ready ${url}`);

/** `ready` for programs (`--json`): one JSON document, `{"ready": "<url>"}`. */
export const announceJson: Announce = (url) => console.log(JSON.stringify({ ready: url }));

/**
 * A signal that repeats within this time is the same signal, ms: at Ctrl-C the terminal signals both npm and the
 * process that npm runs, and npm forwards its signal to the process.
 */
const REPEATS = 1_000;

/**
 * Resolves at Ctrl-C, SIGTERM, or the SIGHUP of a terminal that closes. Repeats of the signal are ignored; a later one
 * ends the process at once.
 */
export function untilSignalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of endSignals()) {
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

/** Explains an error to the user of a command: one line, or a line for each error in the configuration. No stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.lines;
  return [oneLine(error)];
}

/** The message of an error in one line. */
export function oneLine(error: unknown): string {
  // Node tries every address of a host and wraps the errors; its own message is empty.
  if (error instanceof AggregateError && error.errors.length > 0) return oneLine(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  // Prisma puts the source location first and the reason last.
  const lines = error.message.split('\n').map((line) => line.trim());
  const reason = lines.findLast((line) => line !== '') ?? error.name;
  return RAW_QUERY.exec(reason)?.[1] ?? reason;
}

/** Prisma wraps the reason for which a raw statement failed. */
const RAW_QUERY = /^Raw query failed\. Code: `[^`]*`\. Message: `(.+)`$/;
