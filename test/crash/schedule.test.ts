import { expect, it } from '@jest/globals';
import { randomFrom } from '../support/random.js';
import { planKills, planRound } from './schedule.js';

const TEN_MINUTES = 600_000;

it('the same seed gives the same schedule', () => {
  const plan = () => planKills(randomFrom(7), TEN_MINUTES, 8_000, true);
  expect(plan()).toEqual(plan());
});

it("Temporal's Postgres is killed only where Temporal has one, its postmaster and its backends", () => {
  const howIn = (has: boolean) =>
    new Set(
      planKills(randomFrom(1), TEN_MINUTES, 2_000, has)
        .filter(({ target }) => target === "Temporal's Postgres")
        .map(({ how }) => how),
    );
  expect(howIn(false)).toEqual(new Set());
  expect(howIn(true)).toEqual(new Set(['kill -9', 'kill -9 of a backend']));
});

it('a round has `everything` and two other targets, each once, and every target in some round', () => {
  const rounds = Array.from({ length: 100 }, (_, seed) => planRound(randomFrom(seed), 2_500, true));
  const targets = rounds.map((round) => round.map(({ target }) => target));
  for (const round of targets) expect([round.includes('everything'), new Set(round).size]).toEqual([true, 3]);
  expect(new Set(targets.flat()).size).toBe(8);
  const without = Array.from({ length: 100 }, (_, seed) => planRound(randomFrom(seed), 2_500, false)).flat();
  expect(without.map(({ target }) => target)).not.toContain("Temporal's Postgres");
});
