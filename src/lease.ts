/** How long one process works on an event or an attempt before another may take it (design, Every attempt begins with a claim). */
export const LEASE = {
  /** Of an event and of an attempt's claim, on Postgres's clock. */
  seconds: 30,
  /** An attempt takes up to 15 s and a second for the body: one with less left than this is not begun, ms. */
  leastLeft: 20_000,
} as const;

/**
 * SQL: whether a lease or claim is free. Each is made for `LEASE.seconds`, so one that ends later than twice that was made
 * by another clock (Postgres was restored or failed over to a machine whose clock is behind), and nobody holds it.
 */
export function isFree(column: string): string {
  return `(${column} is null or ${column} <= now() or ${column} > now() + interval '${2 * LEASE.seconds} seconds')`;
}
