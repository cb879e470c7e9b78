import { expect, test } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { withinMemory } from '../../src/platform/within-memory.js';

/** So many keys of this length, in turns; how many of the second turn are found. */
function found(keys: number, length: number): number {
  const cache = new LRUCache<string, number>(withinMemory(1));
  const names = Array.from({ length: keys }, (_, i) => String(i).padStart(length, '0'));
  for (const name of names) cache.set(name, 1);
  return names.filter((name) => cache.get(name) === 1).length;
}

test('a cache within 1 MiB holds thousands of short keys, and fewer long ones', () => {
  expect(found(3_500, 36)).toBe(3_500);
  const long = found(3_500, 1_000);
  expect(long).toBeGreaterThan(500);
  expect(long).toBeLessThan(1_000);
});

test('a key longer than the bound is not kept', () => {
  expect(found(1, 2 ** 21)).toBe(0);
});
