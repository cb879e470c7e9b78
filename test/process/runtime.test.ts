import { expect, test } from '@jest/globals';
import { isSupportedNode } from '../../src/process/runtime.js';

test.each([
  ['20.20.2', false],
  ['22.18.0', false],
  ['22.19.0', true],
  ['23.11.0', false],
  ['24.0.0', true],
  ['24.21.0', true],
  ['26.0.0', false],
])('Node.js %s is supported where package.json names it: %s', (version, supported) => {
  expect(isSupportedNode(version, '^22.19 || ^24')).toBe(supported);
});

test('the tests run on a release that package.json names', () => {
  expect(isSupportedNode(process.versions.node)).toBe(true);
});
