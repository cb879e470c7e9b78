import { expect, it } from '@jest/globals';
import { etagOf, matches } from '../../src/http/etag.js';

it.each([
  ['"a"', true, true],
  ['*', true, true],
  [' * ', true, true],
  ['"b", "a"', true, true],
  [',"b",, "a",', true, true],
  ['W/"b","a"', true, true],
  ['"x,y", "a"', true, true],
  ['W/"a"', false, true],
  ['"b"', false, false],
  ['w/"a"', false, false],
  ['a', false, false],
  ['"a', false, false],
  ['"a" "a"', false, false],
  ['"x y", "a"', false, false],
  ['"a", b', false, false],
  ['*, "a"', false, false],
  ['', false, false],
])('%s matches "a" strongly: %s, weakly: %s', (field, strong, weak) => {
  expect([matches(field, '"a"'), matches(field, '"a"', { weak: true })]).toEqual([strong, weak]);
});

it('another state has another tag', () => {
  expect(etagOf({ a: 1 })).toMatch(/^"[\w-]{43}"$/);
  expect(etagOf({ a: 1 })).not.toBe(etagOf({ a: 2 }));
});
