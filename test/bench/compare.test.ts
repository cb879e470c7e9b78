import { expect, test } from '@jest/globals';
import { ratiosOf, worse } from '../../bench/compare.js';

test('a route that costs over 15 % more of its floor than before is named; noise and new routes are not', () => {
  const before = { operator: 1.2, sandbox: 1, cancel: 1.1 };
  expect(worse(before, { operator: 1.39, sandbox: 1.14, cancel: 0.9, 'sandbox, keyed': 9 })).toEqual([
    'operator: 1.39 times its floor, 1.20 before',
  ]);
});

test('ratios are read from the table of routes', () => {
  const rows = [{ what: 'operator', 'CPU ms': 0.8, 'CPU ÷ floor': 1.2346 }];
  expect(ratiosOf({ sections: [{ title: 'Routes, at full speed', rows }] })).toEqual({ operator: 1.235 });
});
