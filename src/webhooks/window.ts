const DAY = 86_400_000;
export const MAX_WINDOW_DAYS = 31;
/** The longest window whose events are counted or compared, ms (contract, Events and deliveries). */
export const MAX_WINDOW = MAX_WINDOW_DAYS * DAY;
/**
 * Allowance for a window that ends at the request, ms: a client that computes a start 31 days ago reads its clock
 * before the service does.
 */
const CLOCK_ALLOWANCE = 10_000;

/** Whether [since, until) is longer than the longest window. `until` undefined: now. Times are ms since 1970. */
export function isTooLong({ since, until }: { since: number; until?: number | undefined }): boolean {
  return until === undefined ? Date.now() - since > MAX_WINDOW + CLOCK_ALLOWANCE : until - since > MAX_WINDOW;
}
