/** Numbers in [0, 1) for a test. The seed is `SEED` or the clock, and is printed, so that a failure can be played again. */
export function seededRandom(name: string): () => number {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  process.stderr.write(`${name}: SEED=${seed}\n`);
  return randomFrom(seed);
}

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of them, each as likely as its weight. */
export function pick<T>(random: () => number, choices: readonly (readonly [T, number])[]): T {
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [choice, weight] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  throw new Error('there is nothing to pick from');
}
