/** Repeats `work` until it took less than `limit` ms, in which a rate limit gives nothing back. */
export async function quickly<T>(limit: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const began = performance.now();
    const result = await work();
    if (performance.now() - began < limit) return result;
  }
}
