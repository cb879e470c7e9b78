/**
 * The time for which one process holds an event or an attempt (design, Every attempt begins with a claim). The lease of
 * an event whose first attempts are due is the claim on them too: `claimedUntil` in webhooks/claim.ts.
 */
export const LEASE = {
  /** The duration of an event's lease and of an attempt's claim, on Postgres's clock. */
  seconds: 30,
  /** No attempt starts with less time left than this, ms: it takes up to 15 s, and a second for the body. */
  leastLeft: 20_000,
} as const;

/**
 * SQL: whether a lease or claim is free. Each is made for `LEASE.seconds`. One that ends after more than twice that
 * time was made by another clock, before Postgres was restored or failed over to a machine whose clock is behind. No
 * process holds it.
 */
export function isFree(column: string): string {
  return `(${column} is null or ${column} <= now() or ${column} > now() + interval '${2 * LEASE.seconds} seconds')`;
}
