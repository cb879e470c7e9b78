import type { Bench } from './bench.js';

/**
 * Runs the variants in turn, round by round, so that each is measured beside its neighbours: what else the machine does
 * changes within minutes. Every second round is in reverse order, so that no variant is always the first.
 * @returns the result of each variant, round by round
 */
export async function inTurn<Results extends object>(
  rounds: number,
  say: (round: number) => void,
  variants: { readonly [Name in keyof Results]: () => Promise<Results[Name]> },
): Promise<{ [Name in keyof Results]: Results[Name][] }> {
  const names = Object.keys(variants) as (keyof Results)[];
  const found = Object.fromEntries(names.map((name) => [name, []])) as never as { [N in keyof Results]: Results[N][] };
  for (let round = 1; round <= rounds; round++) {
    say(round);
    for (const name of round % 2 === 1 ? names : names.toReversed()) found[name].push(await variants[name]());
  }
  return found;
}

/** Prints each round of a scenario. */
export const progress = (bench: Pick<Bench, 'say'>, scenario: string) => (round: number) =>
  bench.say(`${scenario}, round ${round}`);
