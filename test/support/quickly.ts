/** Repeats `work` until it took less than a second, which is the window of the rate limit of the API. */
export async function withinASecond<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const began = performance.now();
    const result = await work();
    if (performance.now() - began < 1_000) return result;
  }
}
