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

it('a round has every target once', () => {
  const targets = (has: boolean) => planRound(randomFrom(3), 2_500, has).map(({ target }) => target);
  for (const has of [false, true]) expect(new Set(targets(has)).size).toBe(targets(has).length);
  expect(targets(true)).toHaveLength(targets(false).length + 1);
  expect(targets(true)).toContain("Temporal's Postgres");
});
