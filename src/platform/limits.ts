// The limits that problem codes, documents and pages name (contract).

/** Manual retries of one delivery in any hour, counted over API, console and CLI of all processes (contract). */
export const RETRIES_AN_HOUR = 10;

/** Recoveries of one endpoint in any hour (contract). */
export const RECOVERS_AN_HOUR = 10;

/** Statements, lists of missing events and recovers that a client gets in a minute, over all processes (contract). */
export const STATEMENTS_A_MINUTE = 20;

/** Seconds between the starts of two checks of one endpoint (contract). */
export const BETWEEN_CHECKS = 10;

/** Checks of one client in any minute, those of deleted endpoints included. */
export const CHECKS_A_MINUTE = 10;

/** Checks of one client that run at the same time. */
export const CHECKS_AT_ONCE = 2;

/** Transfers that move by themselves which a client may create in any second (contract). */
export const SANDBOX_TRANSFERS_A_SECOND = 10;

/** Transfers that move by themselves which a client may have unfinished (contract). */
export const SANDBOX_TRANSFERS_UNFINISHED = 1_000;

/** Links that are neither used nor expired: those that a client made, and, counted apart, those that the operator made. */
export const MAX_OPEN_CODES = 20;

export const MAX_WINDOW_DAYS = 31;
/** The longest window whose events are counted or compared, ms (contract, Events and deliveries). */
export const MAX_WINDOW = MAX_WINDOW_DAYS * 86_400_000;
/**
 * Allowance for a window that ends at the request, ms: a client that computes a start 31 days ago reads its clock
 * before the service does.
 */
const CLOCK_ALLOWANCE = 10_000;

/** Whether [since, until) is longer than the longest window. `until` undefined: now. Times are ms since 1970. */
export function isTooLong({ since, until }: { since: number; until?: number | undefined }): boolean {
  return until === undefined ? Date.now() - since > MAX_WINDOW + CLOCK_ALLOWANCE : until - since > MAX_WINDOW;
}
