/**
 * The time for which one process holds a row that waits for work: a queued attempt, an event that waits for its workflow,
 * a workflow that waits for its start. Times are on Postgres's clock.
 */
export const LEASE = {
  seconds: 30,
  /** No attempt starts with less time left than this, ms: it takes up to 15 s, and a second for the body. */
  leastLeft: 20_000,
} as const;

/**
 * SQL: whether a lease has ended or was never given. Each lasts for `LEASE.seconds`. One that ends after more than twice
 * that time was given by another clock, before Postgres was restored or failed over to a machine whose clock is behind.
 * No process holds it.
 */
export function isFree(column: string): string {
  return `(${column} is null or ${column} <= now() or ${column} > now() + interval '${2 * LEASE.seconds} seconds')`;
}
