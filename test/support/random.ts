/** Random numbers in [0, 1). The seed is `SEED` or the clock and is printed, so that a failure can be repeated. */
export function seededRandom(name: string): () => number {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  process.stderr.write(`${name}: SEED=${seed}\n`);
  return randomFrom(seed);
}

/** Random numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Picks a choice with a probability in proportion to its weight. */
export function pick<T>(random: () => number, choices: readonly (readonly [T, number])[]): T {
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [choice, weight] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  throw new Error('there is nothing to pick from');
}
