import { expect, test } from '@jest/globals';
import { randomFrom } from '../support/random.js';
import { FAILPOINTS } from './failpoints.js';
import { planKills } from './schedule.js';

test('kills at each failpoint once before it kills at any again', () => {
  const plan = planKills(randomFrom(1), 3_600_000, 10_000, false);
  const names = plan.flatMap((kill) => ('failpoint' in kill ? [kill.failpoint] : []));
  const all = Object.keys(FAILPOINTS).sort();
  expect(names.slice(0, all.length).sort()).toEqual(all);
  expect(names.slice(all.length, 2 * all.length).sort()).toEqual(all);
});
