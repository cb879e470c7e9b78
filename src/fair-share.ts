/**
 * Whether a client that holds `held` units of a shared capacity may take `wanted` more while `free` are left: a client
 * holds no more than is left. A lone client thus gets half of the capacity and n flooding clients get 1/(n + 1) each,
 * so that a client that holds nothing still finds capacity (the dynamic threshold of switches with a shared buffer:
 * Choudhury and Hahne, 1998).
 */
export function withinShare(held: number, wanted: number, free: number): boolean {
  return held + wanted <= free;
}
