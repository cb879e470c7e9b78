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
])('compares Node.js %s with the ranges of package.json: supported is %s', (version, supported) => {
  expect(isSupportedNode(version, '^22.19 || ^24')).toBe(supported);
});

test('supports the release of Node.js that runs the tests', () => {
  expect(isSupportedNode(process.versions.node)).toBe(true);
});
