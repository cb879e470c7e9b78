/** Numbers in [0, 1) that a seed repeats (mulberry32). The seed is `SEED` or the clock, and is printed, so that a failure can be played again. */
export function seededRandom(name: string): () => number {
  let state = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  process.stderr.write(`${name}: SEED=${state}\n`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
